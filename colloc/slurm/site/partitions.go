package site

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// jsonPartition is a partition of slurmrestd: of 22.05 in the first fields, of
// later versions in the last two, which do not say which one is the default.
type jsonPartition struct {
	Name     text   `json:"name"`
	Flags    words  `json:"flags"`
	State    words  `json:"state"`
	MaxTime  number `json:"max_time_limit"`
	MaxNodes number `json:"maximum_nodes_per_job"`
	PerCPU   number `json:"default_memory_per_cpu"`
	PerNode  number `json:"default_memory_per_node"`
	Defaults struct {
		PerCPU  number `json:"partition_memory_per_cpu"`
		PerNode number `json:"partition_memory_per_node"`
	} `json:"defaults"`
	Maximums struct {
		Time  number `json:"time"`
		Nodes number `json:"nodes"`
	} `json:"maximums"`
	Partition struct {
		State words `json:"state"`
	} `json:"partition"`
}

// ParsePartitionsJSON reads what slurmrestd answers to GET partitions. Errors are those
// of [ParseJobs].
func ParsePartitionsJSON(data []byte) ([]Partition, error) {
	var answer struct {
		envelope
		Partitions *[]jsonPartition `json:"partitions"`
	}
	if err := open("partitions", data, &answer, &answer.envelope); err != nil {
		return nil, err
	}
	if answer.Partitions == nil {
		return nil, Unreadable("partitions", errMissing("partitions"))
	}
	list := make([]Partition, 0, len(*answer.Partitions))
	for i := range *answer.Partitions {
		p := &(*answer.Partitions)[i]
		if p.Name == "" {
			return nil, Unreadable("partitions", fmt.Errorf("partitions[%d]: %w", i, errMissing("name")))
		}
		list = append(list, Partition{
			Name: string(p.Name), Default: slices.Contains(p.Flags, "default"),
			Down:    !slices.Contains(slices.Concat(p.State, p.Partition.State), "UP"),
			MaxTime: max(p.MaxTime.minutes(), p.Maximums.Time.minutes()), MaxNodes: max(p.MaxNodes.count(), p.Maximums.Nodes.count()),
			MemoryPerCPU:  max(p.PerCPU.someMebibytes(), p.Defaults.PerCPU.someMebibytes()),
			MemoryPerNode: max(p.PerNode.someMebibytes(), p.Defaults.PerNode.someMebibytes()),
		})
	}
	return list, nil
}

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
			case len(all) == 0:
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

// leading reads the number that s begins with, 2^24 at most; 0 if there is none.
func leading(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(s)
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return 0
	}
	return min(n, 1<<24)
}

// slurmTime reads 2026-11-21T12:43:10, which is UTC as slurm.Exec sets it; the zero
// time for Unknown, None and N/A.
func slurmTime(s string) time.Time {
	t, err := time.ParseInLocation("2006-01-02T15:04:05", s, time.UTC)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Duration reads 1-02:03:04, 02:03:04, 03:04.5 and 90, which is seconds; days-hours[:minutes], too. What is no length, as
// UNLIMITED, or longer than a century is 0.
func Duration(s string) time.Duration {
	days, clock, hasDays := strings.Cut(s, "-")
	if !hasDays {
		days, clock = "0", s
	}
	parts := strings.Split(clock, ":")
	whole, err := strconv.ParseUint(days, 10, 16)
	if err != nil || len(parts) > 3 {
		return 0
	}
	total, unit := float64(whole)*86400, 1.0
	if hasDays && len(parts) < 3 { // days-hours[:minutes]
		unit = math.Pow(60, float64(3-len(parts)))
	}
	for _, part := range slices.Backward(parts) {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || !(n >= 0 && n < 1e10) {
			return 0
		}
		total += n * unit
		unit *= 60
	}
	if total > 100*365*86400 {
		return 0
	}
	return time.Duration(total * float64(time.Second))
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
				p.MaxTime = Duration(f.value)
			case "MaxNodes":
				p.MaxNodes = leading(f.value)
			case "DefMemPerCPU":
				p.MemoryPerCPU = slurmBytes(f.value)
			case "DefMemPerNode":
				p.MemoryPerNode, p.Unlimited = slurmBytes(f.value), f.value == "UNLIMITED"
			}
		}
		list = append(list, p)
	}
	return list
}

// ParseDefaults reads from what scontrol show config prints what a job gets that
// states no memory, in partitions that say nothing of their own. It returns nothing
// where the site does not give memory away.
func ParseDefaults(printed string) Partition {
	var p Partition
	counted := false
	for line := range strings.Lines(printed) {
		name, value, _ := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "DefMemPerCPU":
			p.MemoryPerCPU = slurmBytes(value)
		case "DefMemPerNode":
			p.MemoryPerNode, p.Unlimited = slurmBytes(value), value == "UNLIMITED"
		case "SelectTypeParameters":
			counted = strings.Contains(value, "MEMORY")
		}
	}
	if !counted {
		return Partition{}
	}
	return p
}
