// Package recent remembers the newest entries of a map.
package recent

// Map keeps the values of the newest Max keys. Setting a known key again does not make it newer.
// The zero value with a Max is empty and ready to use.
type Map[V any] struct {
	Max    int
	values map[string]V
	order  []string // the keys, oldest first
}

// Set keeps a value, and forgets that of the oldest key if there are too many.
func (m *Map[V]) Set(key string, value V) {
	if m.values == nil {
		m.values = map[string]V{}
	}
	if _, known := m.values[key]; !known {
		if m.order = append(m.order, key); len(m.order) > m.Max {
			delete(m.values, m.order[0])
			m.order = m.order[1:]
		}
	}
	m.values[key] = value
}

// Get returns the value of a key that is remembered.
func (m *Map[V]) Get(key string) (value V, ok bool) {
	value, ok = m.values[key]
	return value, ok
}
