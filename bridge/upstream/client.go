package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// ClientOf returns the name of the client's program according to a request: initialize, or one of
// 2026-07-28. "": unknown.
func ClientOf(m wire.Message) string {
	if !bytes.Contains(m.Params, []byte("clientInfo")) {
		return ""
	}
	var p struct {
		Client proto.Implementation `json:"clientInfo"`
		Meta   struct {
			Client proto.Implementation `json:"io.modelcontextprotocol/clientInfo"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p) // missing members stay empty
	if m.Method == proto.MethodInitialize {
		return short(p.Client.String())
	}
	return short(p.Meta.Client.String())
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
	_ = json.Unmarshal(caps, &o) // unknown members are ignored
	return o
}

// OffersOf returns the kinds of requests that a client accepts, according to initialize or a
// request of 2026-07-28.
func OffersOf(m wire.Message) Offers {
	params := wire.Object(m.Params)
	if m.Method == proto.MethodInitialize {
		return ReadOffers(params["capabilities"])
	}
	return ReadOffers(wire.Object(params["_meta"])[proto.MetaCapabilities])
}

// forms reports whether the client's user can be asked by a form.
func (o Offers) forms() bool {
	e := o.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// ProgressToken returns the token for the progress of a request with these params; nil: it wants
// none.
func ProgressToken(params json.RawMessage) json.RawMessage {
	return present(wire.Object(wire.Object(params)["_meta"])[proto.MetaToken])
}

// EditMeta returns the parameters with members of their _meta replaced, added or removed.
func EditMeta(params json.RawMessage, changes ...wire.Member) json.RawMessage {
	return wire.Edit(params, wire.Set("_meta", wire.Edit(wire.Object(params)["_meta"], changes...)))
}

// Distinct returns an error if an object has a member of these names twice, or one whose name
// differs from them in case: some readers take the first of two, some the last, and some ignore
// the case.
func Distinct(object []byte, names ...string) error {
	seen := 0
	for key := range wire.Members(object) {
		for i, name := range names {
			if !strings.EqualFold(string(key), name) {
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
