// Package ledger keeps entries by their giver and by a key.
package ledger

// Ledger holds entries by giver and by key.
type Ledger[G comparable, V any] map[G]map[string]V

// Set sets an entry.
func (l Ledger[G, V]) Set(by G, key string, v V) {
	if l[by] == nil {
		l[by] = map[string]V{}
	}
	l[by][key] = v
}

// Merge sets all entries of another ledger.
func (l Ledger[G, V]) Merge(from Ledger[G, V]) {
	for by, list := range from {
		for key, v := range list {
			l.Set(by, key, v)
		}
	}
}
