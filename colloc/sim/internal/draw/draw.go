package draw

import "math"

// Hash mixes a seed and strings (FNV-1a with a SplitMix64 finish).
func Hash(seed uint64, parts ...string) uint64 {
	h := seed ^ 14695981039346656037
	for _, s := range parts {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	return Mix(h)
}

// Mix is the finish of SplitMix64 (Steele et al. 2014, doi:10.1145/2714064.2660195).
func Mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Lognormal returns exp(sd·z) for the z that belongs to h.
func Lognormal(h uint64, sd float64) float64 {
	return Round9(math.Exp(sd * Normal(h)))
}

// Normal returns the z that belongs to h: standard normal, at most 4 from 0.
func Normal(h uint64) float64 {
	u := (float64(Mix(h)>>11) + 0.5) / (1 << 53)
	v := float64(Mix(h+1)>>11) / (1 << 53)
	z := math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
	return max(-4, min(4, z))
}

// Round9 rounds to nine decimals: the last bits of logarithms and exponentials
// differ between processors.
func Round9(x float64) float64 {
	return math.Round(x*1e9) / 1e9
}
