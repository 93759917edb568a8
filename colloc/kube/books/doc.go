// Package books keeps what collocd knows of a cluster: its nodes and cards, the pods
// that hold them and those that wait, all as the API server tells it, and decides which
// pod runs on which card. It knows no client: events come in, decisions go out, and what
// became of a decision is told back.
//
// The truth is what the API server has. Books that were opened anew on the same objects
// say the same.
package books
