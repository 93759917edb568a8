module example.com/colloc

go 1.26.0

require (
	github.com/NVIDIA/go-nvml v0.13.4-0
	github.com/google/go-cmp v0.7.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.24.0
	gonum.org/v1/gonum v0.17.0
	pgregory.net/rapid v1.3.0
)
