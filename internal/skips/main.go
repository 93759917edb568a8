// Skips reads what go test -json prints, prints what go test without -json would, and
// fails if a test skipped that is not on a list.
//
//	go test -json ./... | go run ./internal/skips RUN .ci/skips
//
// A line of the list is RUNS PACKAGE TEST REASON, in which RUNS are the names of the
// runs in which the test may skip, with commas between them, and PACKAGE is a folder of
// the module. An entry for a test of a tested package that there is not is a failure, too.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	const wanted = 3
	if len(os.Args) != wanted {
		fmt.Fprintln(os.Stderr, "usage: go test -json ./... | skips RUN LIST")
		os.Exit(2)
	}
	list, err := os.ReadFile(os.Args[2])
	if err == nil {
		err = check(list, os.Args[1], os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
}

// check copies a readable form of the events in r to w. The error says which tests
// failed, or skipped without being on the list.
func check(list []byte, run string, r io.Reader, w io.Writer) error {
	may, err := parseList(list, run)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	rep := report{out: out, lines: make(map[test][]byte), seen: make(map[test]bool), packages: make(map[string]bool)}
	err = rep.read(r)
	return errors.Join(err, rep.verdict(may), out.Flush())
}
