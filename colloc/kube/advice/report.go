package advice

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

const week = 7 * 24 * time.Hour

// Report says who could share GPUs, and what that is worth.
type Report struct {
	// Pods hold GPUs now. Judged are those of which enough is known, each with one GPU. Left counts
	// the others, by why they are not.
	Pods   int            `json:"pods"`
	GPUs   int            `json:"gpus"`
	Judged int            `json:"judged"`
	Left   map[string]int `json:"left"`
	// Window is the time by which they were judged.
	Window time.Duration `json:"window_ns"`
	// Share is how many GPUs were held on average in the last week, beside those that are now, at most 1.
	// Missing is that the server does not tell. That counts as 1.
	Share profile.Opt[float64] `json:"share"`
	// Sets would share a GPU, those that are worth most first.
	Sets []Set `json:"sets"`
	// Free is how many GPUs fewer would be held.
	Free int `json:"free"`
	// Hours is how many GPU hours a week the same work would take less. Lo and Hi are that
	// if all sets are at this end of what is predicted.
	Hours float64 `json:"hours"`
	Lo    float64 `json:"hours_lo"`
	Hi    float64 `json:"hours_hi"`
	// Slow counts the sets in which a pod may be slower than it may be, if the prediction is off.
	// Guessed counts those whose speeds rest on rules of thumb. Nobody measured pods like them together.
	Slow    int `json:"slow"`
	Guessed int `json:"guessed"`
}

// Set is pods that could share a GPU.
type Set struct {
	// GPU is the product.
	GPU     string   `json:"gpu"`
	Members []Member `json:"members"`
	// Memory is what would be set aside, of Usable.
	Memory profile.Bytes `json:"memory_bytes"`
	Usable profile.Bytes `json:"usable_bytes"`
	// Worth is how many GPUs more than the one that it has it does the work of, Lo and Hi its ends.
	Worth float64 `json:"worth"`
	Lo    float64 `json:"worth_lo"`
	Hi    float64 `json:"worth_hi"`
	// Slow says that the lower end of a member's speed is below what the Planner lets it be.
	Slow bool `json:"slow"`
	// Guessed says that the speeds rest on rules of thumb.
	Guessed bool `json:"guessed"`
}

// Member is a pod of a Set.
type Member struct {
	// Pod is its namespace and name.
	Pod string `json:"pod"`
	// Speed is what is predicted, as a fraction of what it is alone.
	Speed predict.Estimate `json:"speed"`
}

func (r *Report) leave(why string) { r.Left[why]++ }

// sum adds the sets up.
func (r *Report) sum() {
	slices.SortStableFunc(r.Sets, func(a, b Set) int {
		return cmp.Or(cmp.Compare(b.Worth, a.Worth), strings.Compare(a.Members[0].Pod, b.Members[0].Pod))
	})
	hours := week.Hours() * r.Share.Or(1)
	for i := range r.Sets {
		s := &r.Sets[i]
		r.Free += len(s.Members) - 1
		r.Hours, r.Lo, r.Hi = r.Hours+hours*s.Worth, r.Lo+hours*s.Lo, r.Hi+hours*s.Hi
		if s.Slow {
			r.Slow++
		}
		if s.Guessed {
			r.Guessed++
		}
	}
}

// Write tells people, of at most so many sets. It returns the error of w.
func (r *Report) Write(w io.Writer, most int) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%d pods hold %d GPUs. By what DCGM saw in %v, %d of them could be judged.\n", r.Pods, r.GPUs, r.Window, r.Judged)
	for _, why := range slices.Sorted(maps.Keys(r.Left)) {
		fmt.Fprintf(&out, "  not judged: %d %s\n", r.Left[why], why)
	}
	if len(r.Sets) == 0 {
		out.WriteString("No two of them are predicted to gain by sharing a GPU.\n")
		_, err := io.WriteString(w, out.String())
		return err
	}
	fmt.Fprintf(&out, "%d sets of them could share, %d GPUs fewer would be held, and the same work would take %.0f GPU hours a week less (%.0f to %.0f).\n",
		len(r.Sets), r.Free, r.Hours, r.Lo, r.Hi)
	if share, known := r.Share.Get(); known {
		fmt.Fprintf(&out, "  That is if weeks stay like the last, in which %.0f %% of the GPUs that are held now were.\n", 100*share)
	} else {
		out.WriteString("  That is if as many GPUs are held all week as now: Prometheus does not tell how many were.\n")
	}
	fmt.Fprintf(&out, "Risk: %d of these sets, marked !, have a pod that may be slower than it may be, at the lower end of what is predicted. The speeds\n"+
		"of %d rest on rules of thumb, for nobody measured pods like theirs together. Memory is what each was seen to take at most; nothing\n"+
		"keeps it from taking more, and then others on its GPU fail.\n\n", r.Slow, r.Guessed)
	fmt.Fprintf(&out, "%-6s %-14s %-16s %s\n", "worth", "GPU", "memory", "pods, each at its predicted speed (and where that lies)")
	for i := range r.Sets {
		if i == most {
			fmt.Fprintf(&out, "and %d sets more; -most tells of more of them\n", len(r.Sets)-most)
			break
		}
		s := &r.Sets[i]
		var members []string
		for _, m := range s.Members {
			members = append(members, fmt.Sprintf("%s %.2f (%.2f to %.2f)", m.Pod, m.Speed.Value, m.Speed.Lo, m.Speed.Hi))
		}
		mark := " "
		if s.Slow {
			mark = "!"
		}
		fmt.Fprintf(&out, "%.2f %s %-14s %-16s %s\n", s.Worth, mark, s.GPU, fmt.Sprintf("%.0f of %.0f GiB", s.Memory.GiBs(), s.Usable.GiBs()), strings.Join(members, ", "))
	}
	_, err := io.WriteString(w, out.String())
	return err
}
