package dataset_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/predict/dataset"
)

const gavelHeader = "gpu,job_a,model_a,batch_a,job_b,model_b,batch_b,solo_a_steps_per_s,solo_b_steps_per_s,norm_speed_a,norm_speed_b,feasible\n"

func ExampleReadSpeed() {
	rows, err := dataset.ReadSpeed("pairs.csv", strings.NewReader(gavelHeader+
		"v100,m|8,m,8,n|4,n,4,10,2,0.7,0.6,1\nv100,m|8,m,8,o|4,o,4,10,2,0,0,0\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rows {
		o := r.Observation
		fmt.Printf("%s, %s: %v %q\n", o.GPU, o.Set[0].Spec.Model.Name, o.Speeds[0], r.Excluded)
	}
	// Output:
	// V100-PCIe-16GB, m: 0.7 ""
	// V100-PCIe-16GB, m: missing "did not fit or failed"
}

func TestSpeedFaults(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"layout", "a,b\n1,2\n", "x.csv:1"},
		{"negative", gavelHeader + "v100,m|8,m,8,n|4,n,4,10,2,-0.7,0.6,1\n", "norm_speed_a"},
		{"batch", gavelHeader + "v100,m|8,m,-8,n|4,n,4,10,2,0.7,0.6,1\n", "x.csv:2"},
		{"gpu", gavelHeader + ",m|8,m,8,n|4,n,4,10,2,0.7,0.6,1\n", `"gpu"`},
	} {
		if _, err := dataset.ReadSpeed("x.csv", strings.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
	}
	if _, err := dataset.ReadMIG("x.csv", strings.NewReader("gpu\nA100\n")); err == nil {
		t.Error("ReadMIG accepted a file without its columns")
	}
	if _, err := dataset.ReadMixes("x.csv", strings.NewReader("mix\n1\n")); err == nil {
		t.Error("ReadMixes accepted a file without its columns")
	}
}

func TestReadMeasured(t *testing.T) {
	data := os.Getenv("COLLOC_DATA")
	if data == "" {
		t.Skip("COLLOC_DATA is not set: name the folder with the measurement files to run this test")
	}
	open := func(name string) *os.File {
		t.Helper()
		f, err := os.Open(filepath.Join(data, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
		return f
	}
	for _, name := range []string{"interference_lucid.csv", "interference_gavel.csv"} {
		rows, err := dataset.ReadSpeed(name, open(name))
		if err != nil {
			t.Fatal(err)
		}
		measured := 0
		for _, r := range rows {
			for _, s := range r.Observation.Speeds {
				if _, ok := s.Get(); ok {
					measured++
				}
			}
		}
		if measured < len(rows) {
			t.Errorf("%s: %d speeds in %d rows", name, measured, len(rows))
		}
	}
	if rows, err := dataset.ReadMIG("mig_miso.csv", open("mig_miso.csv")); err != nil || len(rows) == 0 {
		t.Errorf("mig_miso.csv: %d rows, %v", len(rows), err)
	}
	if rows, err := dataset.ReadMixes("mps_to_mig_miso.csv", open("mps_to_mig_miso.csv")); err != nil || len(rows) == 0 {
		t.Errorf("mps_to_mig_miso.csv: %d rows, %v", len(rows), err)
	}
}

func FuzzReadSpeed(f *testing.F) {
	f.Add(gavelHeader + "v100,m|8,m,8,n|4,n,4,10,2,0.7,0.6,1\n")
	f.Fuzz(func(t *testing.T, file string) {
		if rows, err := dataset.ReadSpeed("x.csv", strings.NewReader(file)); err == nil && len(rows) == 0 {
			t.Error("no rows and no error")
		}
	})
}
