package site

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// maxNodes bounds what one list of nodes may stand for.
	maxNodes = 1 << 17
	// maxName bounds the name of one node, in bytes. Without it a short list could stand for more than any memory holds.
	maxName = 255
)

// ExpandNodes returns the names that a list of Slurm's stands for, in its
// order: "g[1-3,05],login" is g1, g2, g3, g05 and login. Several pairs of
// brackets in one name multiply, the last one counts fastest. An empty list has
// no names. It returns an error for a list that cannot be read, that stands
// for more than 131,072 names, or for one of more than 255 bytes.
func ExpandNodes(list string) ([]string, error) {
	var names []string
	for len(list) > 0 {
		item := list
		if end := outsideBrackets(list, ','); end >= 0 {
			item, list = list[:end], list[end+1:]
		} else {
			list = ""
		}
		if item == "" {
			return nil, errors.New("slurm: node list: an empty name in it")
		}
		expanded, err := expandItem(item)
		if err != nil {
			return nil, err
		}
		if names = append(names, expanded...); len(names) > maxNodes {
			return nil, tooManyNodes()
		}
	}
	return names, nil
}

func tooManyNodes() error {
	return fmt.Errorf("slurm: node list: stands for more than %d names", maxNodes)
}

// outsideBrackets is strings.IndexByte without what stands in brackets.
func outsideBrackets(s string, c byte) int {
	depth := 0
	for i := range len(s) {
		switch {
		case s[i] == '[' || s[i] == '(':
			depth++
		case s[i] == ']' || s[i] == ')':
			depth--
		case s[i] == c && depth == 0:
			return i
		}
	}
	return -1
}

// expandItem multiplies out the brackets of one item.
func expandItem(item string) ([]string, error) {
	names := []string{""}
	for item != "" {
		head, rest, bracket := strings.Cut(item, "[")
		if strings.ContainsAny(head, "]() \t\n") {
			return nil, fmt.Errorf("slurm: node list: %q is no name", item)
		}
		numbers := []string{""}
		if bracket {
			inside, after, closed := strings.Cut(rest, "]")
			if !closed {
				return nil, fmt.Errorf("slurm: node list: %q has no closing bracket", item)
			}
			var err error
			if numbers, err = expandRanges(inside); err != nil {
				return nil, err
			}
			rest = after
		}
		if len(names)*len(numbers) > maxNodes {
			return nil, tooManyNodes()
		}
		if len(names[0])+len(head)+len(numbers[0]) > maxName { // none is much longer
			return nil, fmt.Errorf("slurm: node list: a name is longer than %d bytes", maxName)
		}
		var next []string
		for _, n := range names {
			for _, number := range numbers {
				next = append(next, n+head+number)
			}
		}
		names, item = next, rest
	}
	return names, nil
}

// expandRanges reads "1-3,05,7-9" and keeps leading zeros.
func expandRanges(ranges string) ([]string, error) {
	var numbers []string
	for r := range strings.SplitSeq(ranges, ",") {
		low, high, isRange := strings.Cut(r, "-")
		if !isRange {
			high = low
		}
		first, err1 := strconv.ParseUint(low, 10, 32)
		last, err2 := strconv.ParseUint(high, 10, 32)
		if err1 != nil || err2 != nil || last < first || len(low) > maxName {
			return nil, fmt.Errorf("slurm: node list: %.99q is no range of numbers", r)
		}
		if len(numbers)+int(last-first) >= maxNodes {
			return nil, tooManyNodes()
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, fmt.Sprintf("%0*d", len(low), n))
		}
	}
	return numbers, nil
}
