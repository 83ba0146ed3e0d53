// Package access describes who a client over the network is, and what it may do.
//
// # What holds
//
//   - A [Holder] is made by the server from what it has stored about a token, never from what a
//     client says about itself.
//   - Two tokens of one principal are two holders. They see the same sessions, as far as their
//     rights go, but connections, calls and questions belong to one of them.
//   - A right that this version does not know is an error, and grants nothing.
package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/core"
)

// Rights is a set of rights. The zero value has none.
type Rights uint8

// The rights of a client.
const (
	Watch  Rights = 1 << iota // list and read sessions
	Prompt                    // start sessions, prompt, and stop its own turns
	Answer                    // answer approvals, consents and questions
	Act                       // call servers' tools, close and delete sessions, stop any turn

	All = Watch | Prompt | Answer | Act
)

// names are the names of the rights, the lowest bit first.
var names = [...]string{"watch", "prompt", "answer", "act"}

// Has reports whether the set has all of some rights.
func (r Rights) Has(all Rights) bool { return r&all == all }

// HasAny reports whether the set has one of some rights.
func (r Rights) HasAny(of Rights) bool { return r&of != 0 }

// Names returns the names of the rights in the set.
func (r Rights) Names() []string {
	var list []string
	for i, name := range names {
		if r.Has(1 << i) {
			list = append(list, name)
		}
	}
	return list
}

// String returns the names, separated by commas. Parse reads them.
func (r Rights) String() string { return strings.Join(r.Names(), ",") }

// Parse reads names of rights that are separated by commas, in any order. There must be one at
// least.
func Parse(text string) (Rights, error) {
	var r Rights
	for name := range strings.SplitSeq(text, ",") {
		i := slices.Index(names[:], strings.TrimSpace(name))
		if i < 0 {
			return 0, fmt.Errorf("there is no right %q; the rights are %s", name, All)
		}
		r |= 1 << i
	}
	return r, nil
}

// MarshalText implements encoding.TextMarshaler.
func (r Rights) MarshalText() ([]byte, error) {
	if r == 0 || r&^All != 0 {
		return nil, errors.New("not a set of rights")
	}
	return []byte(r.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Rights) UnmarshalText(text []byte) (err error) {
	*r, err = Parse(string(text))
	return err
}

// Holder is a client's identity and its rights. Holders can be compared: those of two tokens
// differ.
type Holder struct {
	Principal core.Principal
	Token     string // the id of the client's own token; "": it has none
	Name      string // the name of that token
	Rights    Rights
}

// Owner returns a principal with all rights, without a token of its own.
func Owner(p core.Principal) Holder { return Holder{Principal: p, Rights: All} }

// Key returns a text that differs from that of any other holder.
func (h Holder) Key() string { return string(h.Principal) + "\x00" + h.Token }

// Caller returns the holder's identity in sessions: that of its token, which outlives connections,
// or else the one that was made for the connection.
func (h Holder) Caller(made core.Caller) core.Caller {
	if h.Token == "" {
		return made
	}
	return core.Caller("token:" + h.Token)
}

// Says returns the name under which the holder's actions are recorded: its token's name, or
// else the one that the client gives itself.
func (h Holder) Says(client string) string {
	if h.Token == "" {
		return client
	}
	return h.Name
}
