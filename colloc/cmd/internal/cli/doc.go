// Package cli makes programs that read their flags with package flag subcommands
// of one program: each parses, explains and completes its flags by itself.
package cli
