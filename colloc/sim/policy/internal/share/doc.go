// Package share is the frame of policies that decide task by task which GPU to
// join.
package share
