package api

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/colloc/profile"
)

// Demand is what a pod's annotations say of its task.
type Demand struct {
	// Profile names the Profile that describes the task; empty is none.
	Profile string
	// Memory is what is set aside for the task; 0 lets the Planner predict it.
	Memory profile.Bytes
	// MaxSlowdown is solo speed over collocated speed that the task bears, at least 1,
	// +Inf for any; 0 is the Planner's default.
	MaxSlowdown float64
	// Alone forbids sharing.
	Alone bool
	// Serves says that the task answers its users' requests.
	Serves bool
	// GPUs is how many GPUs of one node the pod takes at once; 0 is one.
	GPUs int
	// Gang names the gang of the pod; empty is that its owner does. GangSize is how many
	// pods it has; 0 is that the pod is in none.
	Gang     string
	GangSize int
	// Restart is what it costs to stop the task and start it again; missing is that it is
	// not stopped for others.
	Restart profile.Opt[time.Duration]
	// Length is how long the task takes alone on its GPU; missing is that nobody knows.
	Length profile.Opt[time.Duration]
}

// Width is how many GPUs the pod takes, at least 1.
func (d Demand) Width() int { return max(1, d.GPUs) }

// AnnotationError is an annotation that cannot be read.
type AnnotationError struct {
	// Name is the annotation, Value what it says, Want what it may say.
	Name, Value, Want string
}

// Error names the annotation, its value and what it may be.
func (e *AnnotationError) Error() string {
	value := e.Value
	if len(value) > 64 {
		value = value[:64] + "..."
	}
	return fmt.Sprintf("annotation %s is %q, want %s", e.Name, value, e.Want)
}

// What colloc counts with at most.
const (
	maxMemory = 1 << 56
	maxGPUs   = 32   // of a pod, as many as a claim may ask for
	maxGang   = 4096 // pods
)

// quantity is a Quantity of few digits. ParseQuantity writes numbers out in full: with
// 1e9999999 it is busy for seconds, with more digits for longer than anybody waits.
var quantity = regexp.MustCompile(`^\+?[0-9.]{1,64}([eE][+-]?[0-9]{1,2}|[A-Za-z]{0,2})$`)

// ReadDemand reads the annotations of a pod. Each fault is an [*AnnotationError]; all
// are joined into one error.
func ReadDemand(annotations map[string]string) (Demand, error) {
	var d Demand
	var errs []error
	read := func(name, want string, ok func(value string) bool) {
		if value, set := annotations[name]; set && !ok(strings.TrimSpace(value)) {
			errs = append(errs, &AnnotationError{name, value, want})
		}
	}
	read(AnnotationProfile, "the name of a Profile", func(value string) bool {
		d.Profile = value
		return len(validation.IsDNS1123Subdomain(value)) == 0
	})
	read(AnnotationMemory, "an amount of memory such as 12Gi", func(value string) bool {
		if !quantity.MatchString(value) {
			return false
		}
		q, err := resource.ParseQuantity(value)
		d.Memory = profile.Bytes(q.Value())
		return err == nil && q.Sign() > 0 && q.CmpInt64(maxMemory) <= 0
	})
	read(AnnotationMaxSlowdown, "a number of at least 1 such as 1.3, or inf", func(value string) bool {
		x, err := strconv.ParseFloat(value, 64)
		d.MaxSlowdown = x
		return err == nil && !math.IsNaN(x) && x >= 1
	})
	read(AnnotationAlone, `"true" or "false"`, func(value string) bool {
		d.Alone = value == True
		return d.Alone || value == "false"
	})
	read(AnnotationClass, ClassInference+" or "+ClassTraining, func(value string) bool {
		d.Serves = value == ClassInference
		return d.Serves || value == ClassTraining
	})
	read(AnnotationRestart, "a duration such as 90s", func(value string) bool {
		x, err := time.ParseDuration(value)
		d.Restart = profile.Some(x)
		return err == nil && x >= 0
	})
	read(AnnotationLength, "a duration above 0 such as 2h", func(value string) bool {
		x, err := time.ParseDuration(value)
		d.Length = profile.Some(x)
		return err == nil && x > 0
	})
	count := func(name, want string, most int, n *int) {
		read(name, want, func(value string) (ok bool) {
			x, err := strconv.Atoi(value)
			*n = x
			return err == nil && x >= 1 && x <= most
		})
	}
	count(AnnotationGPUs, fmt.Sprintf("a number of GPUs, 1 to %d", maxGPUs), maxGPUs, &d.GPUs)
	count(AnnotationGangSize, fmt.Sprintf("a number of pods, 1 to %d", maxGang), maxGang, &d.GangSize)
	read(AnnotationGang, "the name of a gang, with "+AnnotationGangSize+" beside it", func(value string) bool {
		d.Gang = value
		return len(validation.IsDNS1123Subdomain(value)) == 0 && d.GangSize > 0
	})
	if err := errors.Join(errs...); err != nil {
		return Demand{}, err
	}
	return d, nil
}

// Placement is the decision about a pod, as its annotations tell it.
type Placement struct {
	// Node is the node's name, Device the card there, or several, joined by commas.
	Node, Device string
	// Address is what NVIDIA_VISIBLE_DEVICES has to be.
	Address string
	// Reserved is the memory set aside on each card.
	Reserved profile.Bytes
	// Limits say what of the node holds the task to it.
	Limits Limits
}

// Limits are what holds tasks to the memory that is set aside for them. With the zero value
// nothing does.
type Limits struct {
	// MPS: the driver, for its tasks are clients of an MPS daemon.
	MPS bool
	// HAMi: HAMi-core, which answers a call for more memory in the driver's place.
	HAMi bool
}

// String says what becomes of a task that asks for more than was set aside.
func (l Limits) String() string {
	var by []string
	if l.MPS {
		by = append(by, "the driver, under MPS")
	}
	if l.HAMi {
		by = append(by, "HAMi-core")
	}
	if len(by) == 0 {
		return "nothing holds it to that: the node has neither MPS nor HAMi-core"
	}
	return "held to that by " + strings.Join(by, " and by ")
}

// GPU returns NODE/DEVICE, of one card its ID in the books.
func (p Placement) GPU() string { return p.Node + "/" + p.Device }

// GPUs returns the IDs of the cards in the books, none for the zero Placement.
func (p Placement) GPUs() []string {
	if p.Device == "" {
		return nil
	}
	ids := strings.Split(p.Device, ",")
	for i := range ids {
		ids[i] = p.Node + "/" + ids[i]
	}
	return ids
}

// Annotations returns what [ReadPlacement] reads.
func (p Placement) Annotations() map[string]string {
	notes := map[string]string{
		AnnotationGPU:      p.GPU(),
		AnnotationUUID:     p.Address,
		AnnotationReserved: strconv.FormatInt(int64(p.Reserved), 10),
	}
	mib := strconv.FormatInt(int64((p.Reserved+profile.MiB-1)/profile.MiB), 10)
	if p.Limits.MPS { // a container numbers the cards that it sees
		each := make([]string, strings.Count(p.Device, ",")+1)
		for i := range each {
			each[i] = strconv.Itoa(i) + "=" + mib + "M"
		}
		notes[AnnotationMPSLimit] = strings.Join(each, ",")
	}
	if p.Limits.HAMi { // on each card
		notes[AnnotationHAMiLimit] = mib + "m"
	}
	return notes
}

// ReadPlacement reads a decision; false is that there is none. What cannot be read is
// an [*AnnotationError].
func ReadPlacement(annotations map[string]string) (Placement, bool, error) {
	gpu, set := annotations[AnnotationGPU]
	if !set {
		return Placement{}, false, nil
	}
	node, device, ok := strings.Cut(gpu, "/")
	if !ok || len(validation.IsDNS1123Subdomain(node)) > 0 || !isDevices(device) {
		return Placement{}, false, &AnnotationError{AnnotationGPU, gpu, "NODE/DEVICE, as collocd writes it"}
	}
	reserved := annotations[AnnotationReserved]
	n, err := strconv.ParseInt(reserved, 10, 64)
	if err != nil || n <= 0 || n > maxMemory {
		return Placement{}, false, &AnnotationError{AnnotationReserved, reserved, "a number of bytes, as collocd writes it"}
	}
	at := Placement{Node: node, Device: device, Address: annotations[AnnotationUUID], Reserved: profile.Bytes(n)}
	at.Limits = Limits{MPS: annotations[AnnotationMPSLimit] != "", HAMi: annotations[AnnotationHAMiLimit] != ""}
	return at, true, nil
}

// isDevices reports whether a text is the names of devices, each once.
func isDevices(text string) bool {
	names := strings.Split(text, ",")
	for i, name := range names {
		if len(validation.IsDNS1123Subdomain(name)) > 0 || slices.Contains(names[:i], name) {
			return false
		}
	}
	return len(names) <= maxGPUs
}
