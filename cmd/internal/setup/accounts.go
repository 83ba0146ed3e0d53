package setup

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"dragoman/cmd/internal/secrets"
	"dragoman/core"
	"dragoman/core/board"
)

// Accounts are the keys of the providers of the configuration in use.
func (p *edition) Accounts() secrets.Accounts {
	return secrets.Accounts{Env: p.env.Lookup, Logins: p.logins, Config: p.config, Changed: p.keyChanged}
}

// keyChanged tells whoever shows providers and models. The file of keys is one of
// those that a profile comes from, so a new one is made, and that tells of both.
func (p *edition) keyChanged(provider string) {
	if _, err := p.Load(); err != nil { // there is no profile, because the configuration is wrong
		p.postAccounts([]core.Account{p.Accounts().Of(p.config(), provider)})
	}
}

// postAccounts tells of accounts.
func (p *edition) postAccounts(list []core.Account) {
	for _, acc := range list {
		p.board.Put(board.Topic{Kind: "account", Name: acc.Provider, Layer: p.name}, board.Account{Account: acc})
	}
}

// newAccounts lists the accounts that differ from what was listed before; at the
// first time none.
func (p *edition) newAccounts() (changed []core.Account) {
	now := map[string]core.Account{}
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
