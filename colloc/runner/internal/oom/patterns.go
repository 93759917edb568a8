package oom

import (
	"regexp"
	"sync"
)

// memoryPattern is what programs print when device memory runs out: PyTorch
// (torch.OutOfMemoryError, "CUDA out of memory", "CUDA error: out of memory"),
// cuBLAS, cuDNN, NCCL, the CUDA runtime and driver, JAX and XLA
// (RESOURCE_EXHAUSTED, which gRPC says too, of other things), TensorFlow
// (ResourceExhaustedError, "OOM when allocating"), llama.cpp, CuPy and RMM.
const memoryPattern = `(?:CUDA|HIP)(?: error:)? out of memory|torch(?:\.cuda)?\.OutOfMemoryError|` +
	`CU(?:BLAS|DNN|SOLVER|SPARSE)_STATUS_ALLOC_FAILED|CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED|` +
	`CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|cudaMalloc failed: out of memory|Cuda failure [^\n]{0,8}'out of memory'|` +
	`RESOURCE_EXHAUSTED\b[^\n]{0,100}(?i:out of memory|allocat)|ResourceExhaustedError|OOM when allocating|` +
	`cupy\.cuda\.memory\.OutOfMemoryError|std::bad_alloc: out_of_memory`

// vaguePattern is what programs print for any failure of CUDA, lack of memory
// among them. It counts if the GPU's memory was full.
const vaguePattern = `CU(?:BLAS|DNN|SOLVER|SPARSE)_STATUS_|CUDA(?:_ERROR_| error)|cudaError|NCCL.* error`

// patterns find lines that tell lack of memory. The last one may mean something else.
//
//nolint:gochecknoglobals // it is never changed
var patterns = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{regexp.MustCompile(memoryPattern), regexp.MustCompile(vaguePattern)}
})
