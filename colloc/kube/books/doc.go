// Package books keeps what collocd knows of a cluster: its nodes and cards, the pods
// that hold them and those that wait, all as the API server tells it, and decides which
// pod runs on which card. It knows no client: events come in, decisions go out, and what
// became of a decision is told back.
//
// Package dispatch decides, about gangs as about single pods, and who stops for a higher priority: each round a Dispatcher is made anew of
// the cards, of who runs there since when, and of those that have run to their end and are still there. Books say which cards a pod may have,
// and which pod of a gang has which of its cards. [cluster.Bounds.Takes] is a second opinion on what a card takes.
//
// The truth is what the API server has. Books that were opened anew on the same objects
// say the same.
package books
