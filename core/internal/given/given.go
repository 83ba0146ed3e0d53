// Package given remembers which context an agent has, by digests.
package given

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// Digest identifies values by their content. The zero Digest is that of no values.
type Digest [sha256.Size]byte

// Of returns the digest of values, which are those that JSON can show.
func Of[T any](values ...T) (d Digest) {
	if len(values) == 0 {
		return d
	}
	h := sha256.New()
	for _, v := range values {
		text, err := json.Marshal(v) // much faster than fmt for the bytes of a picture
		if err != nil {
			text = fmt.Appendf(nil, "%#v", v)
		}
		fmt.Fprintf(h, "%T %s\n", v, text)
	}
	return Digest(h.Sum(nil))
}

// Context is the context that an agent has. The zero value is empty.
type Context struct {
	standing Digest
	passing  map[string]Digest // by slot
}

// News returns what the agent does not have: standing is nil if it is unchanged, and empty if there
// is nothing any more; of passing only what has changed in its slot.
func News[T any](c *Context, standing, passing []T, slot func(T) string) (news, changed []T) {
	if Of(standing...) != c.standing {
		news = append([]T{}, standing...)
	}
	for _, v := range passing {
		if c.passing[slot(v)] != Of(v) {
			changed = append(changed, v)
		}
	}
	return news, changed
}

// Add records what the agent gets. If standing is nil it is unchanged.
func Add[T any](c *Context, standing, passing []T, slot func(T) string) {
	if standing != nil {
		c.standing = Of(standing...)
	}
	if c.passing == nil {
		c.passing = map[string]Digest{}
	}
	for _, v := range passing {
		c.passing[slot(v)] = Of(v)
	}
}

// Forget records that everything passing is out of the agent's view.
func (c *Context) Forget() { c.passing = nil }
