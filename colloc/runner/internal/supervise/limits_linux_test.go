package supervise

import (
	"os"
	"strings"
	"testing"
)

// What the kernel writes is read, as it is here and with other numbers; what is cut off or no number is an error.
func TestParseLimits(t *testing.T) {
	text, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		t.Fatal(err)
	}
	limits, err := parseLimits(string(text))
	if err != nil || len(limits) != len(resources()) {
		t.Fatalf("%v, %v; want all of %v", limits, err, resources())
	}
	for name := range limits {
		if _, ok := resources()[name]; !ok {
			t.Errorf("%s is no resource", name)
		}
	}
	line, _, _ := strings.Cut(string(text)[strings.Index(string(text), "\nMax open files")+1:], "\n")
	for with, want := range map[string][2]int64{
		"Max open files            50                   60                   files     ": {50, 60},
		"Max open files            0                    unlimited            files     ": {0, -1},
	} {
		limits, err := parseLimits(strings.Replace(string(text), line, with, 1))
		if err != nil || limits["nofile"] != want {
			t.Errorf("%q: %v, %v; want %v", with, limits["nofile"], err, want)
		}
	}
	for _, with := range []string{"", "Max open files", "Max open files 50 many", "Max open files -1 -1"} {
		if limits, err := parseLimits(strings.Replace(string(text), line, with, 1)); err == nil {
			t.Errorf("%q: %v", with, limits["nofile"])
		}
	}
}
