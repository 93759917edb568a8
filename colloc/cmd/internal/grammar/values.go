package grammar

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// MaxTasks bounds a sweep, and with it the values of one parameter: more is a
// slip of the keyboard.
const MaxTasks = 100_000

// Param is one -p: a name and its values in the order in which they were given.
type Param struct {
	Name   string
	Values []string
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*`)

// ParseParam reads NAME=LIST; the grammar is in the package comment.
func ParseParam(text string) (Param, error) {
	name := nameForm.FindString(text)
	if name == "" || !strings.HasPrefix(text[len(name):], "=") {
		return Param{}, &SyntaxError{len(name) + 1, "want NAME=VALUE,VALUE,...: a name is a letter or _ and then letters, digits, _ . -"}
	}
	r := valueReader{text: text, at: len(name) + 1}
	p := Param{Name: name}
	seen := make(map[string]bool)
	for {
		start := r.at
		values, err := r.next()
		if err != nil {
			return Param{}, err
		}
		for _, v := range values {
			if seen[v] {
				return Param{}, &SyntaxError{start + 1, fmt.Sprintf("the value %q is there twice; -n N repeats a task", v)}
			}
			seen[v] = true
		}
		p.Values = append(p.Values, values...)
		if len(p.Values) > MaxTasks {
			return Param{}, &SyntaxError{start + 1, fmt.Sprintf("more than %d values", MaxTasks)}
		}
		if r.at == len(text) {
			return p, nil
		}
		r.at++ // the comma
	}
}

// valueReader reads a list of values; at is the next byte.
type valueReader struct {
	text string
	at   int
}

// next returns the value, or the values of the range, up to the next comma or
// the end.
func (r *valueReader) next() ([]string, error) {
	start := r.at
	var b strings.Builder
	plain := true // no quotes, no escapes: may be a range
	for r.at < len(r.text) && r.text[r.at] != ',' {
		switch c := r.text[r.at]; c {
		case '\'', '"':
			plain = false
			if err := r.quoted(&b, c); err != nil {
				return nil, err
			}
		case '\\':
			plain = false
			if r.at+1 == len(r.text) {
				return nil, &SyntaxError{r.at + 1, `a \ that protects nothing`}
			}
			b.WriteByte(r.text[r.at+1])
			r.at += 2
		default:
			b.WriteByte(c)
			r.at++
		}
	}
	if r.at == start {
		return nil, &SyntaxError{start + 1, `a value is missing; "" is the empty one`}
	}
	if plain {
		if values, ok, err := expandRange(b.String()); ok || err != nil {
			if err != nil {
				err = &SyntaxError{start + 1, err.Error()}
			}
			return values, err
		}
	}
	return []string{b.String()}, nil
}

// quoted reads '...' as it is and "..." with \" and \\.
func (r *valueReader) quoted(b *strings.Builder, quote byte) error {
	start := r.at
	for r.at++; r.at < len(r.text); r.at++ {
		c := r.text[r.at]
		if c == quote {
			r.at++
			return nil
		}
		if c == '\\' && quote == '"' && r.at+1 < len(r.text) && (r.text[r.at+1] == '"' || r.text[r.at+1] == '\\') {
			r.at++
			c = r.text[r.at]
		}
		b.WriteByte(c)
	}
	return &SyntaxError{start + 1, fmt.Sprintf("this %c is never closed", quote)}
}

const numberForm = `[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?`

// What counts repetitions takes long to compile: every supervisor would wait for it.
var (
	rangeStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + numberForm + `\.\.`) })
	rangeForm  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(` + numberForm + `)\.\.(` + numberForm + `)(?::(x?)(` + numberForm + `))?$`)
	})
)

// expandRange returns the values of FROM..TO, FROM..TO:STEP or FROM..TO:xFACTOR,
// both ends included if they are hit, or false if text is no range. It counts in
// exact decimals: 0..1:0.1 ends with 0.9 and 1.
func expandRange(text string) (values []string, ok bool, err error) {
	if !rangeStart().MatchString(text) {
		return nil, false, nil
	}
	m := rangeForm().FindStringSubmatch(text)
	if m == nil {
		return nil, false, fmt.Errorf("%q is no range: want FROM..TO, FROM..TO:STEP or FROM..TO:xFACTOR; quote it if it is a text", text)
	}
	from, to := decimal(m[1]), decimal(m[2])
	if m[3] == "" {
		values, err = addUp(from, to, m[4])
	} else {
		values, err = multiplyUp(from, to, decimal(m[4]))
	}
	return values, err == nil, err
}

// addUp returns from, from + step, ... up, or down, to to.
func addUp(from, to *big.Rat, by string) ([]string, error) {
	step := big.NewRat(1, 1)
	if by != "" {
		step = decimal(by)
	}
	if step.Sign() <= 0 {
		return nil, fmt.Errorf("the step %s is not above 0; the ends give the direction", by)
	}
	steps := new(big.Rat).Sub(to, from)
	if steps.Sign() < 0 {
		step.Neg(step)
	}
	steps.Quo(steps, step)
	n := new(big.Int).Quo(steps.Num(), steps.Denom())
	if n.Sign() == 0 && to.Cmp(from) != 0 {
		return nil, fmt.Errorf("a step of %s passes over %s, and %s is the only value: give a smaller step (:%[2]s) or a factor (:x10)", decimalText(step.Abs(step)), decimalText(to), decimalText(from))
	}
	if !n.IsInt64() || n.Int64() >= MaxTasks {
		return nil, fmt.Errorf("more than %d values", MaxTasks)
	}
	values := make([]string, n.Int64()+1)
	for i := range values {
		values[i] = decimalText(from)
		from.Add(from, step)
	}
	return values, nil
}

// multiplyUp returns from, from * factor, ... up, or down, to to.
func multiplyUp(from, to, factor *big.Rat) ([]string, error) {
	one := big.NewRat(1, 1)
	direction := to.Cmp(from)
	switch {
	case from.Sign() <= 0 || to.Sign() <= 0 || factor.Sign() <= 0:
		return nil, errors.New("a range with a factor has numbers above 0 only")
	case factor.Cmp(one) == 0:
		return nil, errors.New("the factor 1 leads nowhere")
	case direction != 0 && direction != factor.Cmp(one):
		factor = new(big.Rat).Inv(factor)
		if _, exact := factor.FloatPrec(); !exact {
			return nil, fmt.Errorf("the factor %s leads away from %s, and its inverse is no decimal", factor.Inv(factor).RatString(), decimalText(to))
		}
	}
	const most = 200 // of the longest numbers with the smallest factor there would be millions
	var values []string
	for direction*from.Cmp(to) <= 0 {
		if len(values) == most || direction == 0 && len(values) == 1 {
			break
		}
		values = append(values, decimalText(from))
		from.Mul(from, factor)
	}
	if len(values) == most {
		return nil, fmt.Errorf("more than %d values with a factor", most)
	}
	return values, nil
}

// decimal reads a number of numberForm.
func decimal(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return new(big.Rat) // cannot be: the form is checked
	}
	return r
}

// decimalText writes r in full, without an exponent.
func decimalText(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	digits, exact := r.FloatPrec()
	if !exact {
		f, _ := r.Float64()
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return r.FloatString(digits)
}
