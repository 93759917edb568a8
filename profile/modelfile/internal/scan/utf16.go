package scan

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf16"
)

// FromUTF16 returns a text that begins with a byte order mark, as PowerShell writes
// what a program prints, in UTF-8.
func FromUTF16(in *Input) (*Input, error) {
	data, err := io.ReadAll(io.LimitReader(in, MaxText+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxText {
		return nil, fmt.Errorf("the text is longer than %d bytes", MaxText)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if bytes.HasPrefix(data, []byte("\xfe\xff")) {
		order = binary.BigEndian
	}
	units := make([]uint16, 0, len(data)/2)
	for ; len(data) > 1; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	text := NewInput(bytes.NewReader([]byte(string(utf16.Decode(units[min(1, len(units)):])))))
	text.Path = in.Path
	return text, nil
}
