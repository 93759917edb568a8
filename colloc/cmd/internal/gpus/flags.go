package gpus

import (
	"flag"
	"strings"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Flags adds -gpus and -share, which list the GPUs to use and the ways to share one. begin
// is called with the flag's name before each; nil is nobody.
func Flags(f *flag.FlagSet, ids *[]nvmlx.DeviceID, ways *[]profile.Mechanism, begin func(flag string)) {
	if begin == nil {
		begin = func(string) {}
	}
	f.Func("gpus", "use the GPUs `LIST`: numbers or UUIDs; without it those of CUDA_VISIBLE_DEVICES, or all", func(s string) error {
		begin("gpus")
		for id := range strings.SplitSeq(s, ",") {
			*ids = append(*ids, nvmlx.DeviceID(strings.TrimSpace(id)))
		}
		return nil
	})
	f.Func("share", "`LIST` of the ways to share a GPU, the preferred one first: time-slicing, mps, exclusive", func(s string) error {
		begin("share")
		for name := range strings.SplitSeq(s, ",") {
			m, err := profile.ParseMechanism(name)
			if err != nil {
				return err
			}
			*ways = append(*ways, m)
		}
		return nil
	})
}
