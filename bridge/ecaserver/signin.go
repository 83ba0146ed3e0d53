package ecaserver

// note notes whether the server wants a login.
func (b *Backend) note(wanted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wants, b.in = wanted, b.in && !wanted
}

func (b *Backend) noteLater(wanted bool) { b.note(wanted) }

func (b *Backend) relist(*peer) {}
