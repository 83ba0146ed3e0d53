package setup

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"dragoman/cmd/internal/secrets"
	"dragoman/core/board"
	"dragoman/core/control"
)

// Accounts returns the keys of the providers of the configuration in use.
func (p *edition) Accounts() secrets.Accounts {
	return secrets.Accounts{Env: p.env.Lookup, Logins: p.logins, Config: p.config, Changed: p.keyChanged}
}

// keyChanged updates the clients that show providers and models. A profile depends on the
// file of keys, so a new profile is made, which posts both.
func (p *edition) keyChanged(provider string) {
	if _, err := p.Load(); err != nil { // there is no profile, because the configuration has an error
		p.postAccounts([]control.Account{p.Accounts().Of(p.config(), provider)})
	}
}

// postAccounts posts accounts on the board.
func (p *edition) postAccounts(list []control.Account) {
	for _, acc := range list {
		p.board.Put(board.Topic{Kind: "account", Name: acc.Provider, Layer: p.name}, board.Account{Account: acc})
	}
}

// newAccounts lists the accounts that have changed since its last call; none at the first call.
func (p *edition) newAccounts() (changed []control.Account) {
	now := map[string]control.Account{}
	for _, acc := range p.Accounts().List(context.Background()) {
		now[acc.Provider] = acc
	}
	p.mu.Lock()
	was := p.listed
	p.listed = now
	p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was != nil && !reflect.DeepEqual(was[name], now[name]) {
			changed = append(changed, now[name])
		}
	}
	return changed
}
