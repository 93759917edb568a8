package dataset

import (
	"math"
	"strconv"

	"example.com/colloc/profile"
)

// group is a number of layers of one kind and the elements they put out
// together for one sample.
type group struct {
	kind     profile.LayerKind
	n        int64
	elements int64
}

// network is what the sets tell of a network: aggregates.
type network struct {
	family     profile.Family
	activation string // class of the non-linearity, as PyTorch names it
	params     int64
	biggest    int64 // parameters of the largest layer
	largest    int64 // elements of the largest output
	inout      int64 // elements of the largest input + output of a convolution
	input      int64
	concat     int64    // elements of concatenations that the set does not list
	block      [4]group // repeated: dense or convolution, norm, non-linearity, dropout
	head       group    // dense layers at the end
	inPlace    bool     // non-linearities overwrite their input
}

// maxLayers bounds the layers of one row: a count beyond it is not a network.
const maxLayers = 20_000

// model builds a layer list with the same counts, sums and maxima: the blocks
// follow one another with outputs that fall geometrically from the largest, as
// they do from the input to the output of most networks.
func (n *network) model(name string) profile.Model {
	m := profile.Model{Name: name, Family: n.family}
	var outputs [4][]int64
	var rows int64
	for k, g := range n.block {
		outputs[k] = n.outputs(g)
		rows = max(rows, int64(len(outputs[k])))
	}
	params := spread(n.params, n.block[0].n+n.head.n, n.biggest)
	for i := range rows {
		for k, g := range n.block {
			if i >= int64(len(outputs[k])) {
				continue
			}
			l := profile.Layer{Name: n.name(g.kind, i), Kind: g.kind, Activations: outputs[k][i]}
			if k == 0 && i < int64(len(params)) {
				l.Params = params[i]
			}
			l.InPlace = n.inPlace && g.kind == profile.Activation
			m.Layers = append(m.Layers, l)
		}
	}
	if n.concat != 0 {
		m.Layers = append(m.Layers, profile.Layer{Name: "concat", Kind: profile.OtherLayer, Activations: n.concat})
	}
	for i, out := range spread(n.head.elements, n.head.n, 0) {
		l := profile.Layer{Name: n.name(n.head.kind, int64(i)), Kind: n.head.kind, Activations: out, Neurons: out}
		if at := n.block[0].n + int64(i); at < int64(len(params)) {
			l.Params = params[at]
		}
		m.Layers = append(m.Layers, l)
	}
	return m
}

func (n *network) name(kind profile.LayerKind, i int64) string {
	class := kind.String()
	if kind == profile.Activation && n.activation != "" {
		class = n.activation
	}
	return class + "-" + strconv.FormatInt(i+1, 10)
}

// outputs returns the elements of each layer of a group, from the largest down.
// A convolution's second output makes the largest input + output come true.
func (n *network) outputs(g group) []int64 {
	count := min(g.n, maxLayers)
	first := min(n.largest, g.elements)
	if second := n.inout - first; count > 2 && second > 0 && second <= first && first+second <= g.elements {
		rest := geometric(g.elements-first-second, count-2, second)
		return append([]int64{first, second}, rest...)
	}
	return geometric(g.elements, count, first)
}

// geometric splits total into n falling parts of which the first is largest, as
// near to first as total allows.
func geometric(total, n, first int64) []int64 {
	if n <= 0 {
		return nil
	}
	if float64(first)*float64(n) <= float64(total) {
		return spread(total, n, 0)
	}
	lo, hi := 0.0, 1.0 // ratio q with first × (1 + q + ... + q^(n−1)) = total
	for range 60 {
		q := (lo + hi) / 2
		sum, term := 0.0, float64(first)
		for range n {
			sum += term
			term *= q
		}
		if sum > float64(total) {
			hi = q
		} else {
			lo = q
		}
	}
	parts := make([]int64, n)
	left, term := total, float64(first)
	for i := range parts {
		parts[i] = min(left, int64(math.Round(term)))
		left -= parts[i]
		term *= lo
	}
	parts[0] += left // what rounding left over
	return parts
}

// spread splits total into n nearly equal parts, the first of which is largest
// where that is more than an equal part.
func spread(total, n, largest int64) []int64 {
	n = min(max(n, 0), maxLayers)
	if n == 0 {
		return nil
	}
	parts := make([]int64, n)
	rest, from := total, int64(0)
	if largest*n > total && largest <= total && n > 1 {
		parts[0], rest, from = largest, total-largest, 1
	}
	each, extra := rest/(n-from), rest%(n-from)
	for i := from; i < n; i++ {
		parts[i] = each
		if i-from < extra {
			parts[i]++
		}
	}
	return parts
}

// architecture appends the leaves of a network.
type architecture struct {
	model    *profile.Model
	channels int64
	side     int64 // of a square feature map
}

func (b *architecture) add(name string, kind profile.LayerKind, params, out int64) {
	b.model.Layers = append(b.model.Layers, profile.Layer{
		Name: name, Kind: kind, Params: params, Activations: out, InPlace: name == "relu" || name == "fused",
	})
}
