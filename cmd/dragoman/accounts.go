package main

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"dragoman/configs"
	"dragoman/core"
)

// accounts are the keys of the providers, wherever they come from.
type accounts struct{ p *profiles }

var _ core.Accounts = accounts{}

// keyMethod is the one way to log in so far.
var keyMethod = core.LoginMethod{Key: "api-key", Label: "API key"}

// keyField is what that asks for.
const keyField = "key"

// List implements core.Accounts.
func (a accounts) List(context.Context) []core.Account {
	c := a.p.config()
	var list []core.Account
	for _, name := range c.ProviderNames() {
		list = append(list, a.of(c, name))
	}
	return list
}

func (a accounts) of(c *configs.Config, name string) core.Account {
	env := a.p.app.Lookup
	acc := core.Account{Provider: name, Label: name, Methods: []core.LoginMethod{keyMethod}}
	if k, ok := knownProvider(name); ok {
		acc.Label = k.Label
		if acc.Local = k.Local(); acc.Local {
			acc.Methods = nil
		} else {
			acc.EnvVar = k.Keys[0]
		}
	}
	source, variable := c.KeySource(name, env, a.p.logins)
	if acc.Source = string(source); variable != "" {
		acc.EnvVar = variable
	}
	acc.Configured = c.CheckKey(name, env, a.p.logins) == nil
	return acc
}

func knownProvider(name string) (configs.Known, bool) {
	list := configs.KnownProviders()
	i := slices.IndexFunc(list, func(k configs.Known) bool { return k.Name == name })
	if i < 0 {
		return configs.Known{}, false
	}
	return list[i], true
}

// find is a provider that a person named, and may have mistyped.
func (a accounts) find(name string) (core.Account, error) {
	c := a.p.config()
	names := c.ProviderNames()
	if !slices.Contains(names, name) {
		more := "; there are " + strings.Join(names, ", ")
		if s := configs.Suggest(name, names); s != "" {
			more = fmt.Sprintf("; did you mean %q?", s)
		}
		return core.Account{}, fmt.Errorf("there is no provider %q%s", oneLine(name, 60), more)
	}
	return a.of(c, name), nil
}

// Login implements core.Accounts: it takes a key and keeps it. Nobody is asked
// whether the key is right: the first request will tell.
func (a accounts) Login(ctx context.Context, provider, method string, fields map[string]string) (core.LoginStep, error) {
	acc, err := a.find(provider)
	switch {
	case err != nil:
		return core.LoginStep{}, err
	case acc.Local:
		return core.LoginStep{}, fmt.Errorf("%s is a program on this machine and needs no key; choose a model such as %s/NAME", acc.Label, provider)
	case method != "" && method != keyMethod.Key:
		return core.LoginStep{}, fmt.Errorf("log in to %s: there is no method %q, only %q", provider, oneLine(method, 60), keyMethod.Key)
	case len(fields) == 0:
		return core.LoginStep{Message: a.begin(acc), Fields: []core.LoginField{{Key: keyField, Label: "API key of " + acc.Label, Secret: true}}}, nil
	}
	key := strings.TrimSpace(fields[keyField])
	if err := checkKey(key); err != nil {
		return core.LoginStep{}, fmt.Errorf("log in to %s: %w", provider, err)
	}
	changed, err := a.p.logins.set(ctx, provider, key)
	if err != nil {
		return core.LoginStep{}, err
	}
	if changed {
		a.changed(provider)
	}
	return core.LoginStep{Message: "The key of " + acc.Label + " is kept " + a.p.logins.where(ctx, provider) + "." + a.wins(acc)}, nil
}

// begin says what is asked for, and where it is kept.
func (a accounts) begin(acc core.Account) string {
	s := "Give the API key of " + acc.Label + "."
	if k, ok := knownProvider(acc.Provider); ok && k.Page != "" {
		s += " Keys are made at " + k.Page + " ."
	}
	s += " It is kept in " + a.p.logins.path + ", which only you can read, and encrypted where the system has a keyring."
	return s + a.wins(acc)
}

// wins says which key wins over one that is given.
func (a accounts) wins(acc core.Account) string {
	switch configs.KeySource(acc.Source) {
	case configs.KeyConfigured:
		return " The configuration names another key, which wins over it."
	case configs.KeyInEnv:
		return " " + acc.EnvVar + " is set, which wins over it."
	case configs.KeyGiven, "":
	}
	return ""
}

// Logout implements core.Accounts.
func (a accounts) Logout(ctx context.Context, provider string) error {
	changed, err := a.p.logins.set(ctx, provider, "")
	if changed {
		a.changed(provider)
	}
	return err
}

// changed tells whoever shows providers and models. The file of keys is one of
// those that a profile comes from, so a new one is made, and that tells of both.
func (a accounts) changed(provider string) {
	if _, err := a.p.load(); err != nil { // there is no profile, because the configuration is wrong
		a.p.postAccounts([]core.Account{a.of(a.p.config(), provider)})
	}
}

// postAccounts tells of accounts.
func (p *profiles) postAccounts(list []core.Account) {
	for _, acc := range list {
		p.board.Put(core.Topic{Kind: "account", Name: acc.Provider}, core.AccountsItem{Account: acc})
	}
}

// newAccounts lists the accounts that differ from what was listed before; at the
// first time none.
func (p *profiles) newAccounts() (changed []core.Account) {
	now := map[string]core.Account{}
	for _, acc := range (accounts{p}).List(context.Background()) {
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
