package station

import (
	"errors"
	"flag"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/station"
)

// limits adds the flags of what users may have.
func (o *serving) limits(f *flag.FlagSet) {
	f.DurationVar(&o.config.Quota, "quota", 0, "one user may have `TIME` of GPUs in each -window; what runs goes on; 0 is any")
	f.DurationVar(&o.config.QuotaWindow, "window", station.DefaultWindow, "look back `TIME` for -quota")
	f.Func("limit", "`USER:LIMITS` for one user, as ann:gpus=4,queued=100,quota=80h,high; high lets the user submit in that class", o.limit)
	f.BoolVar(&o.config.ShareKinds, "share-kinds", false, "what is seen of one user's program holds for all users' jobs of that kind: for users who trust each other")
	f.Float64Var(&o.config.Beside, "beside", station.DefaultBeside, "for a job of which nothing is known `SHARE` of the largest GPU's memory is reserved until it was seen; 1 gives it a GPU to itself")
	f.Func("overrun", "stop a job that uses more GPU memory than was reserved before others lack it, or only report it: `stop`, report", func(s string) error {
		if s != "stop" && s != "report" {
			return errors.New("want stop or report")
		}
		o.config.LetOverrun = s == "report"
		return nil
	})
}

// limit reads USER:LIMITS.
func (o *serving) limit(text string) error {
	name, list, ok := strings.Cut(text, ":")
	if !ok {
		return fmt.Errorf("%q: want USER:LIMITS", text)
	}
	var l station.Limits
	var err error
	for part := range strings.SplitSeq(list, ",") {
		what, value, _ := strings.Cut(part, "=")
		switch what {
		case "gpus":
			l.MaxGPUs, err = strconv.Atoi(value)
		case "queued":
			l.MaxQueued, err = strconv.Atoi(value)
		case "quota":
			l.Quota, err = time.ParseDuration(value)
		case "high":
			l.High = true
		default:
			err = errors.New("want gpus=N, queued=N, quota=TIME or high")
		}
		if err != nil {
			return fmt.Errorf("%q: %w", part, err)
		}
	}
	uid, known := o.userNumber("-limit", name)
	if !known {
		return nil
	}
	if o.config.Limits == nil {
		o.config.Limits = make(map[uint32]station.Limits)
	}
	o.config.Limits[uid] = l
	return nil
}

// userNumber finds a user by name, or by number, who need not have an account any more. A
// name that nobody has is noted: an account that was deleted must not keep the station from
// starting.
func (o *serving) userNumber(flag, name string) (uid uint32, known bool) {
	number := name
	if u, err := user.Lookup(name); err == nil {
		number = u.Uid
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		o.notes = append(o.notes, fmt.Sprintf("%s: there is no user %.50q here: this is left out", flag, name))
	}
	return uint32(n), err == nil
}
