package login

import (
	"encoding/json"
	"slices"
	"time"
)

// record keeps what a login gave, and whom it belongs to. Without Access there is none.
type record struct {
	Server    string    `json:"server"`   // its address: a token goes nowhere else
	Resource  string    `json:"resource"` // as the server calls itself
	Issuer    string    `json:"issuer"`
	TokenURL  string    `json:"token_url"`
	RevokeURL string    `json:"revoke_url,omitempty"`
	Client    client    `json:"client"`
	Scopes    []string  `json:"scopes,omitempty"` // that were granted
	Wanted    []string  `json:"wanted,omitempty"` // that the server has missed since
	Access    string    `json:"access,omitempty"`
	Refresh   string    `json:"refresh,omitempty"`
	Expires   time.Time `json:"expires,omitzero"` // of Access; zero: not known
}

// parseRecord reads what is kept; of another address, or none, it is nothing.
func parseRecord(kept []byte, server string) record {
	var l record
	if json.Unmarshal(kept, &l) != nil || l.Server != server {
		return record{}
	}
	return l
}

// earlyBy is how long before its end a token is renewed.
const earlyBy = 10 * time.Second

// stale reports whether the token is over, or nearly.
func (l record) stale() bool { return !l.Expires.IsZero() && time.Until(l.Expires) < earlyBy }

// over reports whether the token is over.
func (l record) over() bool { return !l.Expires.IsZero() && time.Until(l.Expires) <= 0 }

// union is the one and what else is in the other, in their order.
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
