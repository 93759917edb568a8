// Package sizing says what to ask a cluster for: how many GPUs of which kind, in
// which partition, for how long, and why each line of the header is as it is. See
// [Advise].
package sizing
