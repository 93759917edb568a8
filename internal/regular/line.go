package regular

import (
	"bufio"
	"errors"
	"fmt"
)

// Line returns the next line of at most so many bytes with its end, which is missing where the text ends: there the error is
// [io.EOF], with what is left of the text or with nothing. The line holds until the next is read.
func Line(in *bufio.Reader, most int) ([]byte, error) {
	var long []byte
	for {
		part, err := in.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if long == nil && !full {
			return part, err
		}
		if long = append(long, part...); len(long) > most {
			return nil, fmt.Errorf("a line of more than %d bytes", most)
		}
		if !full {
			return long, err
		}
	}
}
