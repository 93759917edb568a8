package smi

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"example.com/colloc/internal/tail"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// source is a Source that asks nvidia-smi: for programs that were built without
// cgo. It knows less than the driver's library, and each answer starts a
// process.
type source struct{ program string }

var (
	_ nvmlx.Source        = source{}
	_ nvmlx.ProcessReader = source{}
)

// Open returns nil where there is no nvidia-smi.
func Open() nvmlx.Source {
	program, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil
	}
	return source{program}
}

// query returns the rows that nvidia-smi prints for a list of columns.
func (s source) query(ctx context.Context, what, columns string, id nvmlx.DeviceID) ([][]string, error) {
	args := []string{"--query-" + what + "=" + columns, "--format=csv,noheader,nounits"}
	if id != "" {
		args = append(args, "--id="+string(id))
	}
	cmd := exec.CommandContext(ctx, s.program, args...)
	var out bytes.Buffer
	var complaints tail.Buffer // on either
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, &complaints), &complaints
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("nvidia-smi %s: %w: %w%s", strings.Join(args, " "), nvmlx.ErrTransient, err, complaints.Quoted())
	}
	in := csv.NewReader(&out)
	in.TrimLeadingSpace = true
	in.FieldsPerRecord = strings.Count(columns, ",") + 1
	rows, err := in.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi %s: %w", strings.Join(args, " "), err)
	}
	return rows, nil
}

// Info returns the driver's version.
func (s source) Info(ctx context.Context) (nvmlx.SystemInfo, error) {
	rows, err := s.query(ctx, "gpu", "driver_version", "")
	if err != nil || len(rows) == 0 {
		return nvmlx.SystemInfo{}, err
	}
	return nvmlx.SystemInfo{Driver: rows[0][0]}, nil
}

// Devices lists the GPUs; MIG instances it does not see.
func (s source) Devices(ctx context.Context) ([]nvmlx.DeviceInfo, error) {
	rows, err := s.query(ctx, "gpu", "uuid,index,name,memory.total,mig.mode.current,compute_mode", "")
	if err != nil {
		return nil, err
	}
	var devices []nvmlx.DeviceInfo
	for _, r := range rows {
		d := nvmlx.DeviceInfo{ID: nvmlx.DeviceID(r[0]), Index: len(devices), Name: r[2], Memory: mebibytes(r[3])}
		if index, err := strconv.Atoi(r[1]); err == nil {
			d.Index = index
		}
		switch r[4] {
		case "Enabled":
			d.MIGEnabled = profile.Some(true)
		case "Disabled":
			d.MIGEnabled = profile.Some(false)
		}
		switch r[5] {
		case "Default":
			d.ComputeMode = profile.Some(nvmlx.ComputeDefault)
		case "Prohibited":
			d.ComputeMode = profile.Some(nvmlx.ComputeProhibited)
		case "Exclusive_Process":
			d.ComputeMode = profile.Some(nvmlx.ComputeExclusiveProcess)
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// Read returns what nvidia-smi knows.
func (s source) Read(ctx context.Context, id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
	rows, err := s.query(ctx, "gpu", "utilization.gpu,utilization.memory,memory.used,power.draw,clocks.sm,clocks.mem,temperature.gpu", id)
	if err != nil {
		return nvmlx.Sample{}, err
	}
	if len(rows) != 1 {
		return nvmlx.Sample{}, fmt.Errorf("nvidia-smi: %w: %s", nvmlx.ErrNoDevice, id)
	}
	r, sample := rows[0], nvmlx.Sample{Device: id}
	sample.GPUBusy, sample.MemBusy = quantity(r[0], 0.01), quantity(r[1], 0.01)
	sample.MemUsed, sample.PowerWatts = mebibytes(r[2]), quantity(r[3], 1)
	sample.SMClockMHz, sample.MemClockMHz, sample.TempCelsius = quantity(r[4], 1), quantity(r[5], 1), quantity(r[6], 1)
	sample.Missing.Set(what&^sample.Present(), nvmlx.ErrNotSupported)
	sample.Keep(what)
	return sample, nil
}

// Processes lists the computing processes.
func (s source) Processes(ctx context.Context, id nvmlx.DeviceID) ([]nvmlx.Process, error) {
	rows, err := s.query(ctx, "compute-apps", "pid,process_name,used_memory", id)
	if err != nil {
		return nil, err
	}
	var list []nvmlx.Process
	for _, r := range rows {
		if pid, err := strconv.Atoi(r[0]); err == nil {
			list = append(list, nvmlx.Process{PID: pid, Name: r[1], Kind: nvmlx.ComputeProcess, MemUsed: mebibytes(r[2])})
		}
	}
	return list, nil
}

// Close does nothing.
func (source) Close() error { return nil }

// quantity reads a number; what is no number ("[N/A]") is missing.
func quantity(cell string, scale float64) profile.Opt[float64] {
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		return profile.Opt[float64]{}
	}
	return profile.Some(x * scale)
}

func mebibytes(cell string) profile.Opt[profile.Bytes] {
	n, err := strconv.ParseInt(cell, 10, 64)
	if err != nil {
		return profile.Opt[profile.Bytes]{}
	}
	return profile.Some(profile.Bytes(n) * profile.MiB)
}
