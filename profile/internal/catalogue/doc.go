// Package catalogue holds the data sheets of GPUs and finds one by any name in
// use.
package catalogue
