package lsq

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
)

// Exact are numbers that a file keeps bit by bit, as a string: base64 of their IEEE 754
// bits, least byte first, which is read in a quarter of the time that digits take. No
// numbers are an empty list. Files of old have lists of digits, which it reads too.
type Exact []float64

// MarshalJSON implements [json.Marshaler].
func (x Exact) MarshalJSON() ([]byte, error) {
	if len(x) == 0 {
		return []byte("[]"), nil
	}
	bits := make([]byte, 0, 8*len(x))
	for _, v := range x {
		bits = binary.LittleEndian.AppendUint64(bits, math.Float64bits(v))
	}
	text := base64.StdEncoding.AppendEncode([]byte{'"'}, bits)
	return append(text, '"'), nil
}

// UnmarshalJSON implements [json.Unmarshaler]. The numbers may be any, also not finite.
func (x *Exact) UnmarshalJSON(text []byte) error {
	if len(text) < 2 || text[0] != '"' {
		return json.Unmarshal(text, (*[]float64)(x))
	}
	bits, err := base64.StdEncoding.DecodeString(string(text[1 : len(text)-1]))
	if err != nil {
		return err
	}
	if len(bits)%8 != 0 {
		return errors.New("numbers of other than 8 bytes")
	}
	*x = make(Exact, len(bits)/8)
	for i := range *x {
		(*x)[i] = math.Float64frombits(binary.LittleEndian.Uint64(bits[8*i:]))
	}
	return nil
}
