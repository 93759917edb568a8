package catalogue

import (
	"bytes"
	"strings"
	"sync"
)

// Find returns the product that goes by a key, as [AppendKey] makes it, or nil.
func Find(key []byte) *Product {
	i, ok := products()[string(key)]
	if !ok {
		return nil
	}
	return &Products[i]
}

// products maps the key of every name in use to its row of the catalogue.
//
//nolint:gochecknoglobals // a read-only index of a read-only table
var products = sync.OnceValue(func() map[string]int {
	index := make(map[string]int)
	for i := range Products {
		for _, alias := range Products[i].Aliases {
			index[alias] = i
		}
	}
	return index
})

// WithMemory returns the product that goes by key followed by its memory in GB
// and has the given one in bytes, or p where that has it or none does.
func (p *Product) WithMemory(key []byte, memory int64) *Product {
	if memory <= 0 || p.holds(memory) {
		return p
	}
	for j := range Products {
		if !Products[j].holds(memory) {
			continue
		}
		for _, alias := range Products[j].Aliases {
			size, ok := strings.CutPrefix(alias, string(key))
			size, gb := strings.CutSuffix(size, "gb")
			if ok && gb && size != "" && size[0] != '0' && strings.Trim(size, "0123456789") == "" {
				return &Products[j]
			}
		}
	}
	return p
}

// holds reports whether a total that a driver may print is the product's: within
// an eighth, because some of it is kept back.
func (p *Product) holds(memory int64) bool {
	nominal := int64(p.MemoryMiB) << 20
	return memory >= nominal-nominal/8 && memory <= nominal+nominal/8
}

// KeySize is longer than the key of any product: AppendKey grows beyond it.
const KeySize = 64

// AppendKey appends a product name's letters and digits, in lower case, without
// the vendor and without how the GPU is shared.
func AppendKey(dst []byte, name string) []byte {
	if kind, rest, ok := strings.Cut(name, ":"); ok && len(kind) >= 3 && strings.EqualFold(kind[len(kind)-3:], "gpu") {
		name, _, _ = strings.Cut(rest, ":") // gpu:TYPE:COUNT
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			dst = append(dst, c)
		}
	}
	for _, word := range [...]string{"nvidia", "tesla", "geforce"} {
		if len(dst) >= len(word) && string(dst[:len(word)]) == word {
			dst = dst[len(word):]
		}
	}
	if i := bytes.Index(dst, []byte("mig")); i >= 0 {
		dst = dst[:i]
	}
	for _, word := range [...]string{"shared", "generation"} {
		if n := len(dst) - len(word); n >= 0 && string(dst[n:]) == word {
			dst = dst[:n]
		}
	}
	return dst
}
