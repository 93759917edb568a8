package main

import (
	"io"
	"os"
	"testing"
)

// BenchmarkFitAll fits every pretrained model from the published measurements.
func BenchmarkFitAll(b *testing.B) {
	data := os.Getenv("COLLOC_DATA")
	if data == "" {
		b.Skip("COLLOC_DATA is not set: set it to the folder with the measurement files to run this benchmark")
	}
	for _, j := range jobs() {
		b.Run(j.file, func(b *testing.B) {
			for b.Loop() {
				if err := j.fit(data, io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
