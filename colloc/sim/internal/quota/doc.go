// Package quota holds tasks back whose users have all the GPUs that they may have.
package quota
