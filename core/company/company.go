package company

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"dragoman/core"
	"dragoman/core/display"
)

// Pause is the time for which a change waits before it is told: a client that comes back meanwhile has
// not left.
const Pause = time.Second

// maxName limits the name of a client, in characters.
const maxName = 60

// Company follows the clients of a session, for one of them.
type Company struct {
	now  []core.Attendee
	told []core.Attendee
	met  bool // it was told once
}

// See notes the clients of now, and reports whether that may be news.
func (c *Company) See(now []core.Attendee) bool {
	c.now = now
	return !c.met || !slices.Equal(now, c.told)
}

// News returns what has changed since the last call, for the client with the id self, or for whoever
// has joined who else is there; empty: nothing.
func (c *Company) News(self string) string {
	came, went := beyond(c.now, c.told), beyond(c.told, c.now)
	names, left := named(c.now, came, self), named(c.told, went, self)
	met := c.met
	c.told, c.met = c.now, true
	if !met {
		return sentence(names, "also attached to this session.")
	}
	var parts []string
	if len(names) > 0 {
		parts = append(parts, List(names)+" joined this session.")
	}
	if len(left) > 0 {
		parts = append(parts, List(left)+" left this session.")
	}
	return strings.Join(parts, " ")
}

// beyond lists those of a list that another list does not have. One of the same name takes the place of
// another: it has come back.
func beyond(list, other []core.Attendee) (more []core.Attendee) {
	lone := slices.DeleteFunc(slices.Clone(other), func(o core.Attendee) bool {
		return slices.ContainsFunc(list, func(a core.Attendee) bool { return a.ID == o.ID })
	})
	for _, a := range list {
		if slices.ContainsFunc(other, func(o core.Attendee) bool { return a.ID == o.ID }) {
			continue
		}
		same := func(o core.Attendee) bool { return a.Name == o.Name && a.Observe == o.Observe }
		if i := slices.IndexFunc(lone, same); i >= 0 {
			lone = slices.Delete(lone, i, i+1)
			continue
		}
		more = append(more, a)
	}
	return more
}

// Others lists the clients besides the one with the id self.
func Others(all []core.Attendee, self string) []core.Attendee {
	return slices.DeleteFunc(slices.Clone(all), func(a core.Attendee) bool { return a.ID == self })
}

// Names returns the names of the clients besides the one with the id self.
func Names(all []core.Attendee, self string) []string { return named(all, all, self) }

// named returns the names of some of all clients, except the one with the id self. Where clients have
// the same name, that of the process is added.
func named(all, some []core.Attendee, self string) (names []string) {
	for _, a := range Others(some, self) {
		name := Name(a.Name)
		if slices.ContainsFunc(all, func(o core.Attendee) bool { return o.ID != a.ID && o.Name == a.Name }) {
			name += " (" + display.Line(a.Node, maxName) + ")"
		}
		if a.Observe {
			name += " (only watching)"
		}
		names = append(names, name)
	}
	return names
}

// Name returns a client's name as it is shown.
func Name(name string) string { return display.Line(display.Seen(name), maxName) }

// Attached says who is attached to a session; empty: nobody.
func Attached(names []string) string { return sentence(names, "attached to this session.") }

func sentence(names []string, is string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " is " + is
	}
	return List(names) + " are " + is
}

// List joins names: "a, b and c".
func List(names []string) string {
	if n := len(names); n > 1 {
		return fmt.Sprintf("%s and %s", strings.Join(names[:n-1], ", "), names[n-1])
	}
	return strings.Join(names, "")
}

// Speaker returns the name to show with a message of the user; empty: it is the client's own, or nobody
// knows. A message that a client of the same name has sent, in any version, counts as its own: after a
// reload nothing tells them apart.
func Speaker(o core.Origin, client string) string {
	if client == "" || o.Client == "" || program(o.Client) == program(client) {
		return ""
	}
	return Name(o.Client)
}

// Past is Speaker for a message of the past. What a person has said before is the user's own, whichever
// client it was said in; what a program has said is not.
func Past(o core.Origin, client string) string {
	if o.Caller == "" {
		return ""
	}
	return Speaker(o, client)
}

// program returns a client's name without its version.
func program(name string) string {
	if i := strings.LastIndexByte(name, ' '); i > 0 && strings.ContainsFunc(name[i:], unicode.IsDigit) {
		return name[:i]
	}
	return name
}
