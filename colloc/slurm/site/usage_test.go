package site

import (
	"errors"
	"maps"
	"testing"

	"example.com/colloc/profile"
)

func TestParseUsage(t *testing.T) {
	got, err := ParseUsage([]byte("12.batch|cpu=00:00:07,gres/gpumem=518M,gres/gpuutil=93,mem=1G\n12.0|gres/gpumem:a100=2G\n13.batch|cpu=00:00:01,mem=9G\n\n14.extern|gres/gpumem=1048576\n15.0|\n"))
	want := map[JobID]profile.Bytes{12: 2 * profile.GiB, 14: profile.MiB}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, bad := range []string{"JobID|TRESUsageInMax\n", "12.batch\n", "-3.0|\n"} {
		if _, err := ParseUsage([]byte(bad)); !errors.Is(err, ErrOutput) {
			t.Errorf("%q: %v, want ErrOutput", bad, err)
		}
	}
}

// FuzzUsage: nothing that sstat may print makes a peak that cannot be.
func FuzzUsage(f *testing.F) {
	f.Add([]byte("12.batch|cpu=00:00:07,gres/gpumem=518M,mem=1G\n13.0|gres/gpumem=1e400T\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		peaks, err := ParseUsage(data)
		for id, peak := range peaks {
			if err != nil || id <= 0 || peak <= 0 {
				t.Fatalf("job %d holds %d, %v", id, peak, err)
			}
		}
	})
}
