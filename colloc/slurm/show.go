package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/profile"
)

// field is one Name=value of scontrol show.
type field struct{ name, value string }

// records reads what scontrol show prints: Name=value pairs, each record
// separated by an empty line and begun by the field first. A value may hold
// blanks: what follows a pair and is no pair belongs to it.
func records(first, printed string) [][]field {
	var all [][]field
	for line := range strings.Lines(printed) {
		line = strings.TrimRight(line, "\r\n ")
		for i, w := range strings.Split(strings.TrimLeft(line, " "), " ") {
			name, value, pair := strings.Cut(w, "=")
			switch {
			case pair && name == first && i == 0:
				all = append(all, []field{{name, value}})
			case len(all) == 0 || w == "" && i == 0:
			case pair && fieldName(name):
				last := &all[len(all)-1]
				*last = append(*last, field{name, value})
			case i > 0:
				last := all[len(all)-1]
				last[len(last)-1].value += " " + w
			}
		}
	}
	return all
}

// fieldName reports whether s can be a name: "AllocNode:Sid", "CPUs/Task".
func fieldName(s string) bool {
	return s != "" && s[0] >= 'A' && s[0] <= 'Z' && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_:/-", r)
	})
}

// ParseShowJobs reads what scontrol show job -d prints with times in UTC, as
// every version does. Unlike squeue it also knows a job by its number, and tells
// which GPUs a job of several nodes has on each. It returns an [ErrOutput] for
// lists that cannot be read.
func ParseShowJobs(printed string) ([]JobInfo, error) {
	var jobs []JobInfo
	for _, r := range records("JobId", printed) {
		j, err := showJob(r)
		if err != nil {
			return nil, unreadable("scontrol show job", fmt.Errorf("job %s: %w", clip(r[0].value), err))
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

func showJob(r []field) (JobInfo, error) {
	var j JobInfo
	held := make(map[string][]Held)
	var here []string // the nodes of the line that is being read
	for _, f := range r {
		var err error
		v := nothing(f.value)
		switch f.name {
		case "NodeList":
			j.Nodes, err = ExpandNodes(strings.TrimSpace(v))
		case "ReqNodeList":
			j.Required, err = ExpandNodes(v)
		case "Nodes":
			here, err = ExpandNodes(v)
		case "GRES":
			var list []Held
			list, err = ParseGres(v)
			for _, n := range here {
				if len(list) > 0 {
					held[n] = list
				}
			}
		case "TresPerNode":
			var list []Held
			list, err = ParseGres(v)
			j.Asked = gresOf(list)
		default:
			j.show(f.name, v)
		}
		if err != nil {
			return j, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if j.ID <= 0 {
		return j, errMissing("JobId")
	}
	if j.State.Holds() && len(held) > 0 {
		for _, n := range j.Nodes {
			j.Held = append(j.Held, held[n])
		}
	}
	return j, nil
}

// show sets what a field says that needs no parsing of lists.
func (j *JobInfo) show(name, v string) {
	switch name {
	case "JobId":
		j.ID = JobID(digits(v))
	case "ArrayJobId":
		j.Array = JobID(digits(v))
	case "ArrayTaskId":
		if n, err := strconv.ParseUint(v, 10, 31); err == nil {
			j.Index = profile.Some(int(n))
		} else {
			j.Indices = v
		}
	case "JobName":
		j.Name = v
	case "UserId":
		j.User, _, _ = strings.Cut(v, "(")
	case "Account":
		j.Account = v
	case "Partition":
		j.Partition = v
	case "Comment":
		j.Comment = v
	case "JobState":
		j.State = jobState(words{v})
	case "Reason":
		j.Reason = reason(v)
	case "NumCPUs":
		j.CPUs = int(min(digits(v), maxCount))
	case "TRES", "AllocTRES", "ReqTRES":
		j.Memory = max(j.Memory, tresMemory(v))
	case "TimeLimit":
		j.Limit = slurmDuration(v)
	case "SubmitTime":
		j.Submitted = slurmTime(v)
	case "StartTime":
		j.Started = slurmTime(v)
	case "EndTime":
		j.Ended = slurmTime(v)
	case "Restarts":
		j.Restarts = int(min(digits(v), maxCount))
	case "ExitCode":
		code, signal, _ := strings.Cut(v, ":")
		j.Exit, j.Signal = int(min(digits(code), 255)), int(min(digits(signal), 127))
	case "StdOut":
		j.Output = v
	case "WorkDir":
		j.Dir = v
	}
}

// digits reads the number that s begins with; 0 if there is none.
func digits(s string) int64 {
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(s)
	}
	n, err := strconv.ParseInt(s[:end], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// slurmTime reads 2026-11-21T12:43:10, which is UTC as [Exec] sets it; the zero
// time for Unknown, None and N/A.
func slurmTime(s string) time.Time {
	t, err := time.ParseInLocation("2006-01-02T15:04:05", s, time.UTC)
	if err != nil {
		return time.Time{}
	}
	return t
}

// slurmDuration reads 1-02:03:04, 02:03:04 and 03:04; 0 for UNLIMITED and for
// what is none.
func slurmDuration(s string) time.Duration {
	days, clock, hasDays := strings.Cut(s, "-")
	if !hasDays {
		days, clock = "0", s
	}
	parts := strings.Split(clock, ":")
	if len(parts) > 3 {
		return 0
	}
	total, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0
	}
	seconds := int64(total) * 86400
	unit := int64(1)
	if hasDays && len(parts) < 3 { // days-hours[:minutes]
		unit = int64(60)
		if len(parts) == 1 {
			unit = 3600
		}
	}
	for _, part := range slices.Backward(parts) {
		n, err := strconv.ParseUint(part, 10, 24)
		if err != nil {
			return 0
		}
		seconds += int64(n) * unit
		unit *= 60
	}
	return time.Duration(seconds) * time.Second
}

// ParsePartitions reads what scontrol show partition prints, as every version
// does. It never fails: fields that cannot be read are left zero.
func ParsePartitions(printed string) []Partition {
	var list []Partition
	for _, r := range records("PartitionName", printed) {
		p := Partition{Name: r[0].value}
		for _, f := range r {
			switch f.name {
			case "Default":
				p.Default = f.value == "YES"
			case "State":
				p.Down = f.value != "UP"
			case "MaxTime":
				p.MaxTime = slurmDuration(f.value)
			case "MaxNodes":
				p.MaxNodes = int(min(digits(f.value), maxCount))
			}
		}
		list = append(list, p)
	}
	return list
}
