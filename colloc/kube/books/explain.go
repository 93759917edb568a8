package books

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/nodes"
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
	e := b.tasks[uid]
	if e == nil || b.ledger == nil {
		return ErrUnknown
	}
	var out strings.Builder
	fmt.Fprintf(&out, "pod %s/%s is %v\n", e.pod.Namespace, e.pod.Name, e.phase)
	if e.fault != nil {
		fmt.Fprintf(&out, "fault: %v\n", e.fault)
	}
	if e.note != "" {
		fmt.Fprintf(&out, "note: %s\n", e.note)
	}
	if said := pods.Said(e.pod); said != nil {
		fmt.Fprintf(&out, "told: %s: %s\n", said.Reason, said.Message)
	}
	var err error
	if e.state == idle {
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
func (b *Books) explainPlaced(out *strings.Builder, e *entry) error {
	if e.lost() {
		fmt.Fprintf(out, "its card %s is gone; a decision cannot be changed: delete the pod, and what made it makes another\n", e.at.GPU())
		return nil
	}
	if e.gang.Key != "" {
		fmt.Fprintf(out, "of %s, on %s\n", e.gang, e.at.GPU())
		return nil
	}
	view, err := b.ledger.View(e.at.GPU())
	if err != nil {
		return err
	}
	gpu := view.GPUs[0]
	var rest []colloc.Task
	task := b.booked(e)
	for _, r := range gpu.Residents {
		if r.ID != task.ID {
			rest = append(rest, r)
		}
	}
	gpu.Residents = rest
	p, err := b.config.Planner.Judge(task, gpu)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "card %s, %s, %v of %v reserved, shared by %s\n", e.at.GPU(), gpu.Model.Name, p.Reserved, p.Usable, p.Mechanism)
	for _, m := range p.Members {
		fmt.Fprintf(out, "  %s: speed %.2f (%.2f to %.2f, %s), reserves %v\n", b.nameFor(e, types.UID(m.Task)), m.Speed.Value, m.Speed.Lo, m.Speed.Hi, m.Speed.Source.Kind, m.Reserved)
	}
	return nil
}

// explainWaiting tells what stands in the way.
func (b *Books) explainWaiting(out *strings.Builder, e *entry) error {
	if e.phase == pods.Held {
		var gates []string
		for _, g := range e.pod.Spec.SchedulingGates {
			gates = append(gates, g.Name)
		}
		fmt.Fprintf(out, "it is held by %s: colloc decides once its own gate is the last\n", strings.Join(gates, ", "))
	}
	why, shut := map[string]int{}, map[string]int{}
	var ids []string
	refuses := map[*node]string{}
	for _, d := range b.inOrder() {
		no, asked := refuses[d.node]
		if !asked {
			no = refusal(d.node, e.shape)
			refuses[d.node] = no
			if no != "" {
				why[no]++
			}
		}
		if no != "" {
			continue
		}
		if closed := b.shut(d); closed != "" {
			shut[closed]++
		} else {
			ids = append(ids, d.GPU.ID)
		}
	}
	fmt.Fprintln(out, nodesText(b, why)+shutText(shut))
	if e.gang.Key != "" {
		fmt.Fprintf(out, "it is of %s: all start, or none; it takes %d GPUs\n", e.gang, e.task.GPUs)
		return nil
	}
	if e.fault == nil && len(ids) > 0 {
		return b.nearest(out, e, ids)
	}
	return nil
}

// nearest tells on which of some cards the pod fits, or why not.
func (b *Books) nearest(out *strings.Builder, e *entry, ids []string) error {
	view, err := b.ledger.View(ids...)
	if err != nil {
		return err
	}
	at, verdict, err := b.config.Planner.Best(e.task, view.GPUs)
	if err != nil {
		return err
	}
	text := verdict.String()
	if verdict.Other != "" {
		text = strings.ReplaceAll(text, verdict.Other, b.nameFor(e, types.UID(verdict.Other)))
	}
	if at >= 0 {
		fmt.Fprintf(out, "it fits now: on %s, %s\n", view.GPUs[at].ID, text)
	} else {
		fmt.Fprintf(out, "it fits on none of %d cards; on the nearest: %s\n", len(ids), text)
	}
	return nil
}

// refusal says why a node does not take a pod; empty is that it does.
func refusal(n *node, s *nodes.Shape) string {
	if why := n.closed(); why != "" {
		return why
	}
	return n.offer.Refuses(s, n.used)
}
