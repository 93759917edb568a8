package books

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	"example.com/colloc/colloc/kube/books/internal/words"

	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/pods"
)

// ErrUnknown means that the books have no such pod.
var ErrUnknown = errors.New("books: no such pod of colloc's")

// Explain writes for people what is known of a pod and what was or would be decided: of
// one that is placed who shares its card at which predicted speed, of one that waits
// which nodes would take it and what the Planner says of the card that comes nearest.
// [ErrUnknown] means that the books have no such pod.
func (b *Books) Explain(w io.Writer, uid types.UID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.cluster.Tasks[uid]
	if e == nil || !b.cluster.Opened {
		return ErrUnknown
	}
	var out strings.Builder
	fmt.Fprintf(&out, "pod %s/%s is %v\n", e.Pod.Namespace, e.Pod.Name, e.Phase)
	if e.Fault != nil {
		fmt.Fprintf(&out, "fault: %v\n", e.Fault)
	}
	if e.Note != "" {
		fmt.Fprintf(&out, "note: %s\n", e.Note)
	}
	if said := pods.Said(e.Pod); said != nil {
		fmt.Fprintf(&out, "told: %s: %s\n", said.Reason, said.Message)
	}
	var err error
	if e.State == cluster.Idle {
		err = b.explainWaiting(&out, e)
	} else {
		err = b.explainPlaced(&out, e)
	}
	if err != nil {
		return fmt.Errorf("books: explain: %w", err)
	}
	_, err = io.WriteString(w, out.String())
	return err
}

// explainPlaced tells who shares the card.
func (b *Books) explainPlaced(out *strings.Builder, e *cluster.Entry) error {
	if e.Lost() {
		fmt.Fprintf(out, "its card %s is gone; a decision cannot be changed: delete the pod, and what made it makes another\n", e.At.GPU())
		return nil
	}
	if e.Gang.Key != "" {
		fmt.Fprintf(out, "of %s, on %s\nmemory: %v set aside for it on each; %v\n", e.Gang, e.At.GPU(), e.At.Reserved, e.At.Limits)
		return nil
	}
	gpu := b.cluster.Inhabited(e.Cards[0], e)
	task := b.cluster.Booked(e)
	p, err := b.config.Planner.Judge(task, gpu)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "card %s, %s, %v of %v reserved, shared by %s\n", e.At.GPU(), gpu.Model.Name, p.Reserved, p.Usable, p.Mechanism)
	fmt.Fprintf(out, "memory: %v set aside for it; %v\n", e.At.Reserved, e.At.Limits)
	for _, m := range p.Members {
		fmt.Fprintf(out, "  %s: speed %.2f (%.2f to %.2f, %s), reserves %v\n", b.cluster.NameFor(e, types.UID(m.Task)), m.Speed.Value, m.Speed.Lo, m.Speed.Hi, m.Speed.Source.Kind, m.Reserved)
	}
	return nil
}

// explainWaiting tells what stands in the way.
func (b *Books) explainWaiting(out *strings.Builder, e *cluster.Entry) error {
	if e.Phase == pods.Held {
		var gates []string
		for _, g := range e.Pod.Spec.SchedulingGates {
			gates = append(gates, g.Name)
		}
		fmt.Fprintf(out, "it is held by %s: colloc decides once its own gate is the last\n", strings.Join(gates, ", "))
	}
	why, shut := map[string]int{}, map[string]int{}
	var cards []colloc.GPU
	refuses := map[*cluster.Node]string{}
	for _, d := range b.cluster.InOrder() {
		no, asked := refuses[d.Node]
		if !asked {
			no = b.cluster.Refuses(d.Node, e)
			refuses[d.Node] = no
			if no != "" {
				why[no]++
			}
		}
		if no != "" {
			continue
		}
		if closed := b.cluster.Shut(d); closed != "" {
			shut[closed]++
		} else {
			cards = append(cards, b.cluster.Inhabited(d, nil))
		}
	}
	fmt.Fprintln(out, words.Nodes(b.cluster.Offering(), why)+words.Cards(shut))
	if e.Gang.Key != "" {
		fmt.Fprintf(out, "it is of %s: all start, or none; it takes %d GPUs\n", e.Gang, e.Task.GPUs)
		return nil
	}
	if e.Fault == nil && len(cards) > 0 {
		return b.nearest(out, e, cards)
	}
	return nil
}

// nearest tells on which of some cards the pod fits, or why not.
func (b *Books) nearest(out *strings.Builder, e *cluster.Entry, cards []colloc.GPU) error {
	at, verdict, err := b.config.Planner.Best(e.Task, cards)
	if err != nil {
		return err
	}
	text := verdict.String()
	if verdict.Other != "" {
		text = strings.ReplaceAll(text, verdict.Other, b.cluster.NameFor(e, types.UID(verdict.Other)))
	}
	if at >= 0 {
		fmt.Fprintf(out, "it fits now: on %s, %s\n", cards[at].ID, text)
	} else {
		fmt.Fprintf(out, "it fits on none of %d cards; on the nearest: %s\n", len(cards), text)
	}
	return nil
}
