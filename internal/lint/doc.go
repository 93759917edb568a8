// Package lint checks what holds for the tree as a whole and what a linter that
// reads one package at a time cannot see. It is a test: go test ./internal/lint.
//
// Layout:
//   - imports follow the arrows (profile <- predict, packer <- colloc, and so on)
//   - the top level holds the known folders only; the root package exports nothing
//     and names every public package
//   - every package has a doc.go with its comment and an Example with checked
//     output; a program has a package comment instead
//   - the API of nvmlx mentions no type of the driver's binding
//
// Rooms, a table that go test ./internal/lint -run Rooms -v prints:
//   - no folder of profile, packer, predict, colloc and examples/measure has three source
//     files of one prefix or a circle of imports; of the references between its files
//     fewer than one in ten run against the best order of the files
//
// Files:
//   - at most 400 lines, tests 600, generated files as long as they like
//   - no panic and no mark of unfinished work in non-test code, no sleep in tests
//   - no path of somebody's machine, in any file
//   - no large CSV but what colloc measured itself, and no row of the measured
//     data that COLLOC_DATA names
//
// A rule is a function from a tree to findings, so that each is shown to fire on
// a tree in memory before it passes the real one.
package lint
