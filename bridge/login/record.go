package login

import (
	"encoding/json"
	"slices"
	"time"
)

// record is a login in the store. Without Access there is none.
type record struct {
	Server    string    `json:"server"`   // its address: a token is sent nowhere else
	Resource  string    `json:"resource"` // the server, by its own name for itself
	Issuer    string    `json:"issuer"`
	TokenURL  string    `json:"token_url"`
	RevokeURL string    `json:"revoke_url,omitempty"`
	Client    client    `json:"client"`
	Scopes    []string  `json:"scopes,omitempty"` // the granted ones
	Wanted    []string  `json:"wanted,omitempty"` // those that the server has required since
	Access    string    `json:"access,omitempty"`
	Refresh   string    `json:"refresh,omitempty"`
	Expires   time.Time `json:"expires,omitzero"` // of Access; zero: not known
}

// parseRecord decodes the stored record of the server at an address. The result is empty if
// nothing is stored, or if the record is for another address.
func parseRecord(kept []byte, server string) record {
	var l record
	if json.Unmarshal(kept, &l) != nil || l.Server != server {
		return record{}
	}
	return l
}

// renewBefore is the time before its end at which a token is renewed.
const renewBefore = 10 * time.Second

// stale reports whether the token has expired, or is about to.
func (l record) stale() bool { return !l.Expires.IsZero() && time.Until(l.Expires) < renewBefore }

// over reports whether the token has expired.
func (l record) over() bool { return !l.Expires.IsZero() && time.Until(l.Expires) <= 0 }

// union returns one list, followed by items that only the others have, in their order.
func union(one []string, other ...[]string) []string {
	all := slices.Clone(one)
	for _, list := range other {
		for _, s := range list {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}
