// Package passed keeps those who were asked something and gave no decision, with their reasons.
package passed

import (
	"slices"
	"strings"
)

// List is in the order of the answers. The zero value is empty.
type List[C comparable] []entry[C]

type entry[C comparable] struct {
	who       C
	name, why string
}

// Has reports whether somebody is on the list.
func (l List[C]) Has(who C) bool {
	return slices.ContainsFunc(l, func(e entry[C]) bool { return e.who == who })
}

// Add puts somebody on the list, or replaces the reason of somebody who is there, and returns the
// reasons of all. Different ones come with the names.
func (l *List[C]) Add(who C, name, why string) string {
	*l = append(slices.DeleteFunc(*l, func(e entry[C]) bool { return e.who == who }), entry[C]{who, name, why})
	all, same := make([]string, len(*l)), true
	for i, e := range *l {
		all[i] = e.name + ": " + e.why
		same = same && e.why == why
	}
	if same {
		return why
	}
	return strings.Join(all, "; ")
}
