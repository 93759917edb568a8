package ledger

// Leases counts what the books keep of leases.
func Leases(l *Ledger) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.leases)
}
