// Package served reads what not every API server serves, without its types.
package served
