package runner

import (
	"os"
	"os/exec"
	"reflect"
	"testing"
)

// Nobody knows the limits of a process that has ended, or has the rights of others; one like this has no limits but its own.
func TestLimitsOf(t *testing.T) {
	self, uid := int32(os.Getpid()), uint32(os.Getuid()) //nolint:gosec // the kernel's numbers
	if limits, err := LimitsOf(self, uid); err != nil || len(limits) != 0 {
		t.Errorf("this process: %v, %v", limits, err)
	}
	if limits, err := LimitsOf(self, uid+1); err == nil {
		t.Errorf("as another user's: %v", limits)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	if limits, err := LimitsOf(int32(gone.Process.Pid), uid); err == nil { //nolint:gosec // as above
		t.Errorf("of a process that has ended: %v", limits)
	}
}

// Of two limits the lower holds, -1 is none, and who asks for more is refused.
func TestLower(t *testing.T) {
	most := map[string]Limit{"nofile": {Soft: 50, Hard: 60}, "cpu": {Soft: -1, Hard: -1}}
	for _, tt := range []struct {
		told, want map[string]Limit
	}{
		{nil, most},
		{map[string]Limit{"core": {Soft: 0, Hard: 0}}, map[string]Limit{"core": {Soft: 0, Hard: 0}, "nofile": {Soft: 50, Hard: 60}, "cpu": {Soft: -1, Hard: -1}}},
		{map[string]Limit{"nofile": {Soft: 60, Hard: 60}, "cpu": {Soft: 1, Hard: -1}}, map[string]Limit{"nofile": {Soft: 60, Hard: 60}, "cpu": {Soft: 1, Hard: -1}}},
		{map[string]Limit{"nofile": {Soft: 60, Hard: 61}}, nil},
		{map[string]Limit{"nofile": {Soft: 0, Hard: -1}}, nil},
	} {
		got, err := Lower(tt.told, most)
		if (err == nil) != (tt.want != nil) || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v: %v, %v; want %v", tt.told, got, err, tt.want)
		}
	}
}
