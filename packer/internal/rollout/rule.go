package rollout

// Order is who of those that wait goes first.
type Order int8

// The orders.
const (
	Arrival Order = iota
	Shortest
	Longest
)

// Rule is a way to decide.
type Rule struct {
	Order Order
	// Most is the largest set.
	Most int32
	// Least is what a job must add to a card that runs others, as a share of what it
	// would do there alone.
	Least float64
	// Power weighs jobs by 1/left^Power.
	Power float64
	// Stop lets jobs stop for much shorter ones, with Shortest.
	Stop bool
	// Anew lets all jobs that may stop begin anew, now, together with those that wait: on empty
	// cards in sets of one width that are matched, and then as the rule says. No gang counts as
	// passed unless some job may not stop.
	Anew bool
	// Move lets jobs that run go on elsewhere, where they end earlier, if the cards
	// together then do more: now.
	Move bool
	// First are jobs of one card that go where they say before the rule decides: those that
	// wait start there, those that run go on there.
	First []Start
}

// Start is a job that starts on cards.
type Start struct {
	Job int32
	On  []int32
}
