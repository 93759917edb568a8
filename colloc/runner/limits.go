package runner

import (
	"fmt"
	"maps"
	"strconv"

	"example.com/colloc/colloc/runner/internal/supervise"
)

// LimitsOf returns the limits that an [Owner]'s task may have at most, and has where nothing else is told: those of
// the process of a user that asks for it, as far as this process could give them. Limits that are this process's
// own are left out. It fails where that process has ended or has the rights of others, too.
func LimitsOf(pid int32, uid uint32) (map[string]Limit, error) {
	theirs, err := supervise.LimitsOf(strconv.Itoa(int(pid)), int(uid))
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	own, err := supervise.LimitsOf("self", -1)
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	limits := make(map[string]Limit)
	for name, limit := range theirs {
		if limit = supervise.Within(limit, own[name]); limit != own[name] {
			limits[name] = Limit{Soft: limit[0], Hard: limit[1]}
		}
	}
	return limits, nil
}

// Lower returns the limits of told, and those of most for what it does not tell. A limit above that of most is an error.
func Lower(told, most map[string]Limit) (map[string]Limit, error) {
	if len(told) == 0 {
		return most, nil
	}
	limits := maps.Clone(told)
	for name, may := range most {
		limit, ok := told[name]
		if !ok {
			limits[name] = may
			continue
		}
		asked, bound := [2]int64{limit.Soft, limit.Hard}, [2]int64{may.Soft, may.Hard}
		if supervise.Within(asked, bound) != asked {
			return nil, fmt.Errorf("limit %s: soft %d and hard %d are asked for, and the process that asks has %d at most", name, limit.Soft, limit.Hard, may.Hard)
		}
	}
	return limits, nil
}
