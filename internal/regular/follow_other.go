//go:build !unix

package regular

// noFollow is not known here.
const noFollow = 0
