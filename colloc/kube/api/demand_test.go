package api_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/profile"
)

func TestReadDemand(t *testing.T) {
	for _, tt := range []struct {
		name   string
		set    map[string]string
		want   api.Demand
		faults []string // annotations, in the order in which they are reported
	}{
		{"nothing", nil, api.Demand{}, nil},
		{"all", map[string]string{
			api.AnnotationProfile: "bert", api.AnnotationMemory: "12Gi", api.AnnotationMaxSlowdown: "1.3", api.AnnotationAlone: "true", api.AnnotationClass: "inference",
		}, api.Demand{Profile: "bert", Memory: 12 * profile.GiB, MaxSlowdown: 1.3, Alone: true, Serves: true}, nil},
		{"restarts", map[string]string{api.AnnotationRestart: "90s"}, api.Demand{Restart: profile.Some(90 * time.Second)}, nil},
		{"length", map[string]string{api.AnnotationLength: "2h"}, api.Demand{Length: profile.Some(2 * time.Hour)}, nil},
		{"no length", map[string]string{api.AnnotationLength: "0s"}, api.Demand{}, []string{api.AnnotationLength}},
		{"restarts before it was stopped", map[string]string{api.AnnotationRestart: "-1s"}, api.Demand{}, []string{api.AnnotationRestart}},
		{"works to an end", map[string]string{api.AnnotationClass: "training"}, api.Demand{}, nil},
		{"plain bytes", map[string]string{api.AnnotationMemory: "1000"}, api.Demand{Memory: 1000}, nil},
		{"any slowdown", map[string]string{api.AnnotationMaxSlowdown: "inf"}, api.Demand{MaxSlowdown: math.Inf(1)}, nil},
		{"blanks", map[string]string{api.AnnotationMemory: " 1Gi "}, api.Demand{Memory: profile.GiB}, nil},
		{"all wrong", map[string]string{
			api.AnnotationProfile: "Not A Name", api.AnnotationMemory: "-1Gi", api.AnnotationMaxSlowdown: "0.5", api.AnnotationAlone: "yes", api.AnnotationClass: "inferense",
		}, api.Demand{}, []string{api.AnnotationProfile, api.AnnotationMemory, api.AnnotationMaxSlowdown, api.AnnotationAlone, api.AnnotationClass}},
		{"empty", map[string]string{api.AnnotationMemory: "", api.AnnotationProfile: ""}, api.Demand{}, []string{api.AnnotationProfile, api.AnnotationMemory}},
		{"NaN", map[string]string{api.AnnotationMaxSlowdown: "NaN"}, api.Demand{}, []string{api.AnnotationMaxSlowdown}},
		{"absurd", map[string]string{api.AnnotationMemory: "1Ei"}, api.Demand{}, []string{api.AnnotationMemory}},
		{"exponent", map[string]string{api.AnnotationMemory: "1.5e10"}, api.Demand{Memory: 15_000_000_000}, nil},
		{"endless to write out", map[string]string{api.AnnotationMemory: "1e2147483647"}, api.Demand{}, []string{api.AnnotationMemory}},
		{"endless to divide", map[string]string{api.AnnotationMemory: "1e-999999999"}, api.Demand{}, []string{api.AnnotationMemory}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := api.ReadDemand(tt.set)
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			var names []string
			if joined, ok := err.(interface{ Unwrap() []error }); ok {
				for _, e := range joined.Unwrap() {
					if fault, ok := errors.AsType[*api.AnnotationError](e); ok {
						names = append(names, fault.Name)
					}
				}
			}
			if strings.Join(names, " ") != strings.Join(tt.faults, " ") {
				t.Errorf("faults of %q, want %q; %v", names, tt.faults, err)
			}
		})
	}
}

func TestPlacement(t *testing.T) {
	for _, limits := range []api.Limits{{}, {MPS: true}, {HAMi: true}, {MPS: true, HAMi: true}} {
		p := api.Placement{Node: "n1.example", Device: "gpu-3,gpu-4", Address: "GPU-1f,GPU-2f", Reserved: profile.GiB + 1, Limits: limits}
		notes := p.Annotations()
		if got, ok, err := api.ReadPlacement(notes); got != p || !ok || err != nil {
			t.Errorf("got %+v, %v, %v, want what was written, %+v", got, ok, err, p)
		}
		if mps := notes[api.AnnotationMPSLimit]; mps != map[bool]string{true: "0=1025M,1=1025M"}[limits.MPS] {
			t.Errorf("%+v: MPS is told %q", limits, mps)
		}
		if hami := notes[api.AnnotationHAMiLimit]; hami != map[bool]string{true: "1025m"}[limits.HAMi] {
			t.Errorf("%+v: HAMi-core is told %q", limits, hami)
		}
	}
	if got, ok, err := api.ReadPlacement(nil); ok || err != nil {
		t.Errorf("a pod without a decision has %+v, %v", got, err)
	}
	for _, broken := range []map[string]string{
		{api.AnnotationGPU: "n1", api.AnnotationReserved: "1"},
		{api.AnnotationGPU: "n1/gpu-1"},
		{api.AnnotationGPU: "n1/gpu-1", api.AnnotationReserved: "-1"},
		{api.AnnotationGPU: "n1/gpu 1", api.AnnotationReserved: "1"},
	} {
		var fault *api.AnnotationError
		if got, ok, err := api.ReadPlacement(broken); ok || !errors.As(err, &fault) {
			t.Errorf("%v is read as %+v, %v, want an AnnotationError", broken, got, err)
		}
	}
}

func FuzzAnnotations(f *testing.F) {
	f.Add("bert", "12Gi", "1.3", "true", "n1/gpu-0", "1024")
	f.Add("", "1e999", "inf", "TRUE", "/", "-9")
	f.Add("A", "1e7777777999", "inf", "TRUE", " ", "%")
	f.Fuzz(func(t *testing.T, profile, memory, slowdown, alone, gpu, reserved string) {
		set := map[string]string{
			api.AnnotationProfile: profile, api.AnnotationMemory: memory, api.AnnotationMaxSlowdown: slowdown,
			api.AnnotationAlone: alone, api.AnnotationGPU: gpu, api.AnnotationReserved: reserved,
		}
		if d, err := api.ReadDemand(set); err == nil && (d.Memory <= 0 || d.MaxSlowdown < 1 || d.Profile == "") {
			t.Errorf("%v is read as %+v without an error", set, d)
		}
		if p, ok, _ := api.ReadPlacement(set); ok {
			if again, _, err := api.ReadPlacement(p.Annotations()); again != p || err != nil {
				t.Errorf("%+v comes back as %+v, %v", p, again, err)
			}
		}
	})
}
