package control

import (
	"context"

	"dragoman/core"
)

// Accounts are the keys of the providers of models. Methods block on the disk.
type Accounts interface {
	core.Accounts
	// List returns every provider that is configured or known.
	List(context.Context) []Account
	// Login takes the next step of a login. Without fields it begins one. Method is the Key of
	// one of the account's methods; empty: the first. An error is for the user.
	Login(ctx context.Context, provider, method string, fields map[string]string) (LoginStep, error)
	// Logout forgets what Login kept; no error if there is nothing.
	Logout(ctx context.Context, provider string) error
}

// AccountsOf returns the accounts of a profile, which may be nil; nil: they are not to be seen here.
func AccountsOf(p *core.Profile) Accounts {
	if p == nil {
		return nil
	}
	a, _ := p.Accounts.(Accounts)
	return a
}

// Account describes a provider's key: whether there is one, and where it comes from.
type Account struct {
	Provider   string
	Label      string // for people
	Configured bool   // the provider can be used now: it has a key or needs none
	Local      bool   // it needs no key
	Source     string // of the key: config, env or login; empty: there is none
	EnvVar     string // where Source is env, or where it would be looked for
	Methods    []LoginMethod
}

// LoginMethod is one way to log in.
type LoginMethod struct{ Key, Label string }

// LoginStep is the next step of a login. Without Fields the login is done.
type LoginStep struct {
	Message string
	URL     string // to open in a browser
	Fields  []LoginField
}

// LoginField is something that the user types.
type LoginField struct {
	Key, Label string
	Secret     bool
}
