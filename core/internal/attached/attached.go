// Package attached keeps the clients of a session.
package attached

// Set holds the clients C that are attached, in no order.
type Set[C comparable] map[C]struct{}

// Any reports whether there is a client with a property.
func (s Set[C]) Any(has func(C) bool) bool {
	for c := range s {
		if has(c) {
			return true
		}
	}
	return false
}

// Some lists the clients with a property; nil: there are none.
func (s Set[C]) Some(has func(C) bool) (list []C) {
	for c := range s {
		if has(c) {
			list = append(list, c)
		}
	}
	return list
}
