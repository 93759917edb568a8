// Package memory judges what is said of peak memory: the error of the guess, and
// whether what is reserved holds at the asked risk of running out.
package memory
