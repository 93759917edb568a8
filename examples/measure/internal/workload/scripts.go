package workload

import (
	"embed"
	"os"
	"path/filepath"
)

// scripts are the workloads.
//
//go:embed scripts/*.py
var scripts embed.FS

// Unpack writes the scripts below a folder and returns the path of the one that
// plays a workload.
func Unpack(dir string) (string, error) {
	return filepath.Join(dir, "scripts", "worker.py"), os.CopyFS(dir, scripts)
}
