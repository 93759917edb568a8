package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is an amount of memory. One unit is one byte; negative amounts are
// invalid wherever a size is meant.
type Bytes int64

// Binary multiples, as nvidia-smi and the CUDA allocator count.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// GiBs returns b as a fractional number of GiB.
func (b Bytes) GiBs() float64 { return float64(b) / float64(GiB) }

// String formats b in the largest binary unit that leaves a number of at least
// one, with at most two decimals: "512 B", "1.5 KiB", "40 GiB".
func (b Bytes) String() string {
	size := math.Abs(float64(b))
	for _, u := range []struct {
		name string
		size Bytes
	}{{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}} {
		if size >= float64(u.size) {
			text := strconv.FormatFloat(float64(b)/float64(u.size), 'f', 2, 64)
			return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " " + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + " B"
}

// BytesOf converts a number of bytes to Bytes, rounding up so that a
// reservation is never smaller than what was asked for. NaN and negative
// numbers give 0, numbers beyond the range give the largest value.
func BytesOf(n float64) Bytes {
	switch {
	case !(n > 0):
		return 0
	case n >= math.MaxInt64:
		return math.MaxInt64
	}
	return Bytes(math.Ceil(n))
}

// ParseBytes reads "24GiB", "24 GiB", "24576 MiB", "24G", "1.5 TB" or
// "1073741824". A suffix with i (KiB ... TiB, or Kubernetes' Ki ... Ti), or the
// bare letter of nvidia-smi and Slurm (K, M, G, T), is binary; KB, MB,
// GB and TB are decimal. Case does not matter. It returns an error for anything
// else, and for negative, infinite or overflowing amounts.
func ParseBytes(s string) (Bytes, error) {
	text := strings.TrimSpace(s)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return Bytes(n), nil // exact, which a float64 is not beyond 2^53
	}
	cut := strings.LastIndexAny(text, "0123456789.") + 1
	n, err := strconv.ParseFloat(text[:cut], 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || strings.ContainsAny(text[:cut], "xX_") {
		return 0, fmt.Errorf("profile: parse bytes: %q has no number; write for example 24GiB", s)
	}
	unit, ok := byteUnit(strings.TrimSpace(text[cut:]))
	if !ok {
		return 0, fmt.Errorf("profile: parse bytes: %q has an unknown unit; use KiB, MiB, GiB, TiB or KB, MB, GB, TB", s)
	}
	n *= unit
	if math.IsNaN(n) || n < 0 || n >= math.MaxInt64 {
		return 0, fmt.Errorf("profile: parse bytes: %q is not between 0 and 8 EiB", s)
	}
	return Bytes(math.Round(n)), nil
}

func byteUnit(name string) (float64, bool) {
	switch strings.ToLower(name) {
	case "", "b":
		return 1, true
	case "k", "ki", "kib":
		return float64(KiB), true
	case "m", "mi", "mib":
		return float64(MiB), true
	case "g", "gi", "gib":
		return float64(GiB), true
	case "t", "ti", "tib":
		return float64(TiB), true
	case "kb":
		return 1e3, true
	case "mb":
		return 1e6, true
	case "gb":
		return 1e9, true
	case "tb":
		return 1e12, true
	}
	return 0, false
}

// UnmarshalJSON accepts a number of bytes or a string that [ParseBytes] reads;
// null changes nothing. A Bytes marshals as a plain number of bytes.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return fmt.Errorf("profile: bytes: %w", err)
		}
		v, err := ParseBytes(s)
		*b = v
		return err
	}
	v, err := ParseBytes(string(data))
	if err != nil {
		return fmt.Errorf("profile: bytes: %s is neither a number of bytes nor a text like \"24GiB\"", data)
	}
	*b = v
	return nil
}
