package upstream

import (
	"encoding/json"
	"fmt"
	"strings"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core/jsonscan"
)

// ClientOf returns the name of the client's program according to a request: initialize, or one of
// 2026-07-28. "": unknown.
func ClientOf(m wire.Message) string {
	if m.Method == proto.MethodInitialize {
		return ClientNamed(wire.Value(m.Params, "clientInfo"))
	}
	return ClientNamed(wire.Value(wire.Value(m.Params, "_meta"), proto.MetaClient))
}

// ClientNamed returns the name of the client's program according to its own description; "": unknown.
func ClientNamed(info json.RawMessage) string {
	if info == nil {
		return ""
	}
	is := proto.Implementation{
		Name: jsonscan.Text(wire.Value(info, "name")), Version: jsonscan.Text(wire.Value(info, "version")),
	}
	return short(is.String())
}

// Offers lists the kinds of requests that a client accepts.
type Offers struct {
	Roots       *struct{} `json:"roots"`
	Sampling    *struct{} `json:"sampling"`
	Elicitation *struct {
		Form *struct{} `json:"form"`
		URL  *struct{} `json:"url"`
	} `json:"elicitation"`
}

// ReadOffers reads a client's capabilities.
func ReadOffers(caps json.RawMessage) (o Offers) {
	if len(caps) > len("{}") {
		_ = json.Unmarshal(caps, &o) // unknown members are ignored
	}
	return o
}

// OffersOf returns the kinds of requests that a client accepts, according to initialize or a
// request of 2026-07-28.
func OffersOf(m wire.Message) Offers {
	if m.Method == proto.MethodInitialize {
		return ReadOffers(wire.Value(m.Params, "capabilities"))
	}
	return ReadOffers(wire.Value(wire.Value(m.Params, "_meta"), proto.MetaCapabilities))
}

// forms reports whether the client's user can be asked by a form.
func (o Offers) forms() bool {
	e := o.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// ProgressToken returns the token for the progress of a request with these params; nil: it wants
// none.
func ProgressToken(params json.RawMessage) json.RawMessage {
	return present(wire.Value(wire.Value(params, "_meta"), proto.MetaToken))
}

// EditMeta returns the parameters with members of their _meta replaced, added or removed.
func EditMeta(params json.RawMessage, changes ...wire.Member) json.RawMessage {
	return wire.Edit(params, wire.Set("_meta", wire.Edit(wire.Value(params, "_meta"), changes...)))
}

// Distinct returns an error if an object has a member of these names twice, or one whose name
// differs from them in case: some readers take the first of two, some the last, and some ignore
// the case.
func Distinct(object []byte, names ...string) error {
	seen := 0
	m := jsonscan.MembersOf(object, wire.MaxDepth)
	for m.Next() {
		key := jsonscan.Unescaped(m.Key)
		for i, name := range names {
			// No letter folds to one of another length but two: ſ and the Kelvin sign.
			if len(key) < len(name) || !strings.EqualFold(string(key), name) {
				continue
			}
			if string(key) != name || seen&(1<<i) != 0 {
				return fmt.Errorf("%q conflicts with %q: send only one of them", key, name)
			}
			seen |= 1 << i
		}
	}
	return nil
}
