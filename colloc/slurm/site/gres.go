package site

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Gres is a number of generic resources on each node: GPUs ("gpu"), or shares of
// them where the site offers "shard" or "mps".
type Gres struct {
	// Name is the kind of resource: "gpu", "shard" or "mps".
	Name string `json:"name"`
	// Type is the site's name of the product, for example "a100"; empty is any.
	Type string `json:"type,omitempty"`
	// Count is how many on each node, at least 1.
	Count int `json:"count"`
}

// String returns the form of --gres, for example "gpu:a100:2".
func (g Gres) String() string {
	if g.Type == "" {
		return g.Name + ":" + strconv.Itoa(g.Count)
	}
	return g.Name + ":" + g.Type + ":" + strconv.Itoa(g.Count)
}

// CountGPUs adds up the GPUs of a list, in which the GPUs of a type may be counted a second
// time as GPUs, as in trackable resources. It returns their number, the type of most of
// them, and whether there are shares of GPUs in it.
func CountGPUs(list []Gres) (gpus int, kind string, shares bool) {
	all, typed, most := 0, 0, 0
	for _, g := range list {
		switch {
		case g.Name == "shard" || g.Name == "mps":
			shares = shares || g.Count > 0
		case g.Name != "gpu":
		case g.Type == "":
			all = min(all+g.Count, math.MaxInt32)
		default:
			typed = min(typed+g.Count, math.MaxInt32)
			if g.Count > most {
				most, kind = g.Count, g.Type
			}
		}
	}
	return max(all, typed), kind, shares
}

// Plain reports whether name and type are words as Slurm takes them: letters,
// digits, "_", "." and "-", which stands not first.
func (g Gres) Plain() bool { return word(g.Name) && (g.Type == "" || word(g.Type)) }

// Held is what a job holds of one kind of generic resource on one node, or what
// a node has of it.
type Held struct {
	Gres
	// Index are the GPUs, by Slurm's index on the node, ascending; nil if Slurm
	// does not say.
	Index []int `json:"index,omitempty"`
	// Each is how many on each of Index, where Slurm says it; nil otherwise.
	Each []int `json:"each,omitempty"`
}

// On returns how much is held on one GPU. Where Slurm names several GPUs but
// not how much is on each (22.05 does not), it is all of it: an upper bound.
func (h Held) On(index int) int {
	for i, at := range h.Index {
		switch {
		case at != index:
		case h.Each != nil:
			return h.Each[i]
		case h.Name == "gpu":
			return 1
		default:
			return h.Count
		}
	}
	return 0
}

// ParseGres reads a list of generic resources in all the forms that Slurm
// prints: "gpu:a100:8(S:0-1),shard:64" of a node, "shard:a100:4(IDX:1)" of a
// job, "shard:a100:5(4/8,1/8)" of newer versions, "license(CNT:2)" of what has
// no devices, "gres:gpu:2" or "gres/gpu:a100=2" of a request. "(null)", "N/A" and
// nothing are an empty list. It returns an error that names what it cannot read.
func ParseGres(list string) ([]Held, error) {
	list = strings.TrimSpace(list)
	if list == "(null)" || list == "N/A" {
		return nil, nil
	}
	var held []Held
	for list != "" {
		item := list
		if end := outsideBrackets(list, ','); end >= 0 {
			item, list = list[:end], list[end+1:]
		} else {
			list = ""
		}
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		h, err := parseHeld(item)
		if err != nil {
			return nil, err
		}
		held = append(held, h)
	}
	return held, nil
}

// parseHeld reads one item of the list.
func parseHeld(item string) (Held, error) {
	bad := func() (Held, error) {
		return Held{}, fmt.Errorf("slurm: generic resource %q: want name:type:count", Clip(item))
	}
	text, where := item, ""
	if open := strings.IndexByte(item, '('); open >= 0 {
		if !strings.HasSuffix(item, ")") {
			return bad()
		}
		text, where = item[:open], item[open+1:len(item)-1]
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, "gres:"), "gres/")
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == '=' })
	fields = slices.DeleteFunc(fields, func(f string) bool { return f == "no_consume" })
	if len(fields) == 0 || len(fields) > 3 {
		return bad()
	}
	h := Held{Gres: Gres{Name: fields[0], Count: 1}}
	last := fields[len(fields)-1]
	if n, ok := parseCount(last); ok && len(fields) > 1 {
		h.Count = n
		fields = fields[:len(fields)-1]
	}
	switch len(fields) {
	case 1:
	case 2:
		h.Type = fields[1]
	default:
		return bad()
	}
	if !h.Plain() {
		return bad()
	}
	return h, h.place(where)
}

// parseCount reads 4, 4K and 1G, as Slurm counts in powers of 1024; what is more
// than anybody counts is the largest number.
func parseCount(s string) (int, bool) {
	power := 0
	if s != "" {
		power = 1 + strings.IndexByte("KMGTP", s[len(s)-1]&^('a'-'A'))
	}
	if power > 0 {
		s = s[:len(s)-1]
	}
	n, err := strconv.ParseUint(s, 10, 31)
	for range power {
		n = min(n<<10, math.MaxInt32)
	}
	return int(n), err == nil
}

// place reads what stands in parentheses: which devices.
func (h *Held) place(where string) error {
	bad := fmt.Errorf("slurm: generic resource %v: cannot read its place %q", h.Gres, Clip(where))
	switch {
	case where == "" || strings.HasPrefix(where, "S:") || where == "IDX:N/A" || where == "IDX:" || where == "N/A":
		return nil
	case strings.HasPrefix(where, "CNT:"):
		n, ok := parseCount(where[len("CNT:"):])
		if !ok {
			return bad
		}
		h.Count = n
		return nil
	case strings.HasPrefix(where, "IDX:"):
		for r := range strings.SplitSeq(where[len("IDX:"):], ",") {
			low, high, isRange := strings.Cut(r, "-")
			if !isRange {
				high = low
			}
			first, err1 := strconv.ParseUint(low, 10, 16)
			last, err2 := strconv.ParseUint(high, 10, 16)
			if err1 != nil || err2 != nil || last < first || last >= maxDevices {
				return bad
			}
			for i := first; i <= last; i++ {
				h.Index = append(h.Index, int(i))
			}
			if len(h.Index) > maxDevices {
				return bad
			}
		}
		return nil
	case strings.Contains(where, "/"):
		return h.placeShares(where, bad)
	default:
		return bad
	}
}

// placeShares reads "4/8,0/8": how many of how many on each GPU.
func (h *Held) placeShares(where string, bad error) error {
	i := 0
	for share := range strings.SplitSeq(where, ",") {
		used, _, _ := strings.Cut(share, "/")
		n, ok := parseCount(used)
		if !ok || i >= maxDevices {
			return bad
		}
		if n > 0 {
			h.Index, h.Each = append(h.Index, i), append(h.Each, n)
		}
		i++
	}
	return nil
}

// maxDevices bounds the GPUs of one node.
const maxDevices = 1024

// word reports whether s is a name in Slurm's sense.
func word(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_.-", c) {
			return false
		}
	}
	return s != "" && s[0] != '-'
}
