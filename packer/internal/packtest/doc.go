// Package packtest holds what the tests of the packages below packer share: made-up
// problems and models, measured ones, and slow twins of the methods.
package packtest
