package draw

import (
	"hash/fnv"
	"math"
	"testing"
)

// TestMix: the first numbers of SplitMix64 from 0, as published.
func TestMix(t *testing.T) {
	const step = 0x9e3779b97f4a7c15
	state := uint64(0)
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := Mix(state); got != want {
			t.Errorf("number %d is %#x, want %#x", i, got, want)
		}
		state += step
	}
}

// TestHash: a hash is FNV-1a of all parts, each with an end of its own, and of the seed.
func TestHash(t *testing.T) {
	h := fnv.New64a()
	_, _ = h.Write([]byte("a\xffbc\xff"))
	if got, want := Hash(0, "a", "bc"), Mix(h.Sum64()); got != want {
		t.Errorf("%#x, want %#x", got, want)
	}
	seen := map[uint64]string{}
	for name, x := range map[string]uint64{
		"a, bc": Hash(0, "a", "bc"), "ab, c": Hash(0, "ab", "c"), "abc": Hash(0, "abc"), "abc and nothing": Hash(0, "abc", ""),
		"of another seed": Hash(1, "a", "bc"), "of nothing": Hash(0),
	} {
		if other, ok := seen[x]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[x] = name
	}
}

// TestNormal: what is drawn is normal, at most 4 from 0, and the same each time.
func TestNormal(t *testing.T) {
	const n = 200_000
	var mean, square, third, fourth, most float64
	within := 0
	for i := range uint64(n) {
		z := Normal(Mix(i))
		if z != Normal(Mix(i)) {
			t.Fatal("two answers to one question")
		}
		mean, square, third, fourth = mean+z/n, square+z*z/n, third+z*z*z/n, fourth+z*z*z*z/n
		most = max(most, math.Abs(z))
		if math.Abs(z) < 1.959964 {
			within++
		}
	}
	if math.Abs(mean) > 0.01 || math.Abs(square-1) > 0.015 || math.Abs(third) > 0.03 || math.Abs(fourth-3) > 0.1 || math.Abs(float64(within)/n-0.95) > 0.002 {
		t.Errorf("moments %.4f, %.4f, %.4f, %.4f and %.4f within, want those of a normal distribution: 0, 1, 0, 3 and 0.95", mean, square, third, fourth, float64(within)/n)
	}
	if most > 4 || most < 3.9 {
		t.Errorf("the farthest is %v from 0, want 4 at most", most)
	}
}

// TestLognormal: a factor is the exponential of so many standard deviations, to nine decimals;
// without a deviation it is 1.
func TestLognormal(t *testing.T) {
	for h := range uint64(100) {
		if got := Lognormal(h, 0); got != 1 {
			t.Errorf("%v, want 1", got)
		}
		got := Lognormal(h, 0.5)
		if want := math.Exp(0.5 * Normal(h)); math.Abs(got-want) > 0.5e-9 || got != Round9(want) {
			t.Errorf("%v, want %v to nine decimals", got, want)
		}
	}
	if got := Round9(1.23456789049); got != 1.23456789 {
		t.Errorf("%v, want nine decimals", got)
	}
}

// unmix is what is mixed to a number.
func unmix(t *testing.T, mixed uint64) uint64 {
	t.Helper()
	h := (mixed ^ mixed>>31 ^ mixed>>62) * 0x319642b2d24d8ec3
	h = (h ^ h>>27 ^ h>>54) * 0x96de1b173f119089
	h = (h ^ h>>30 ^ h>>60) - 0x9e3779b97f4a7c15
	if Mix(h) != mixed {
		t.Fatalf("%#x is mixed to %#x, want %#x", h, Mix(h), mixed)
	}
	return h
}

// TestNormalEnds: the least and the greatest number that are hashed to draw a number, too, and
// half way round the circle (Box and Muller) it is below 0.
func TestNormalEnds(t *testing.T) {
	for _, end := range []uint64{0, math.MaxUint64} {
		if z := Normal(unmix(t, end)); !(z >= -4 && z <= 4) {
			t.Errorf("of %#x is drawn %v", end, z)
		}
	}
	for i := range uint64(20) {
		half := unmix(t, 1<<63+i<<20) - 1
		if z, u := Normal(half), float64(Mix(half))/math.MaxUint64; math.Abs(z+math.Sqrt(-2*math.Log(u))) > 1e-6 {
			t.Errorf("half way round, at %v from the middle, is %v", u, z)
		}
	}
}
