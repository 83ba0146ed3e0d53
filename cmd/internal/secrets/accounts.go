package secrets

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/configs"
	"dragoman/core/control"
	"dragoman/core/display"
)

// Accounts manages the keys of the providers from all sources. The owner of the configuration
// provides its functions.
type Accounts struct {
	Env    configs.Env
	Logins *Logins
	Config func() *configs.Config // returns the one in use
	// Changed is called when the key of a provider was stored or removed.
	Changed func(provider string)
}

var _ control.Accounts = Accounts{}

// keyMethod is the only way to log in so far.
var keyMethod = control.LoginMethod{Key: "api-key", Label: "API key"}

// keyField is the field of that method.
const keyField = "key"

// Keys implements core.Accounts. It does nothing.
func (Accounts) Keys() {}

// List implements control.Accounts.
func (a Accounts) List(context.Context) []control.Account {
	c, given := a.Config(), a.Logins.Look()
	var list []control.Account
	for _, name := range c.ProviderNames() {
		list = append(list, a.of(c, name, given))
	}
	return list
}

// Of returns the account of a provider in a configuration.
func (a Accounts) Of(c *configs.Config, name string) control.Account { return a.of(c, name, a.Logins) }

func (a Accounts) of(c *configs.Config, name string, given configs.Logins) control.Account {
	env := a.Env
	acc := control.Account{Provider: name, Label: name, Methods: []control.LoginMethod{keyMethod}}
	if k, ok := configs.KnownProvider(name); ok {
		acc.Label = k.Label
		if acc.Local = k.Local(); acc.Local {
			acc.Methods = nil
		} else {
			acc.EnvVar = k.Keys[0]
		}
	}
	source, variable := c.KeySource(name, env, given)
	if acc.Source = string(source); variable != "" {
		acc.EnvVar = variable
	}
	acc.Configured = c.CheckKey(name, env, given) == nil
	return acc
}

// Find returns a provider named by a person, who may have mistyped it.
func (a Accounts) Find(name string) (control.Account, error) {
	c := a.Config()
	names := c.ProviderNames()
	if !slices.Contains(names, name) {
		more := cmp.Or(configs.DidYouMean(name, names), "; there are "+strings.Join(names, ", "))
		return control.Account{}, fmt.Errorf("there is no provider %q%s", display.Line(name, 60), more)
	}
	return a.Of(c, name), nil
}

// Login implements control.Accounts: it stores a key. It does not check whether the key is valid;
// the first request will show that.
func (a Accounts) Login(
	ctx context.Context,
	provider, method string,
	fields map[string]string,
) (control.LoginStep, error) {
	acc, err := a.Find(provider)
	switch {
	case err != nil:
		return control.LoginStep{}, err
	case acc.Local:
		return control.LoginStep{}, fmt.Errorf(
			"%s is a program on this machine and needs no key; choose a model such as %s/NAME",
			acc.Label,
			provider,
		)
	case method != "" && method != keyMethod.Key:
		return control.LoginStep{}, fmt.Errorf(
			"log in to %s: there is no method %q, only %q",
			provider,
			display.Line(method, 60),
			keyMethod.Key,
		)
	case len(fields) == 0:
		return control.LoginStep{
			Message: a.begin(acc),
			Fields:  []control.LoginField{{Key: keyField, Label: "API key of " + acc.Label, Secret: true}},
		}, nil
	}
	key := strings.TrimSpace(fields[keyField])
	if err := checkKey(key); err != nil {
		return control.LoginStep{}, fmt.Errorf("log in to %s: %w", provider, err)
	}
	changed, err := a.Logins.Set(ctx, provider, key)
	if err != nil {
		return control.LoginStep{}, err
	}
	if changed {
		a.Changed(provider)
	}
	return control.LoginStep{
		Message: "The key of " + acc.Label + " is kept " + a.Logins.Where(ctx, provider) + "." + a.wins(acc),
	}, nil
}

// begin returns the text that asks for a key and names the place where it is stored.
func (a Accounts) begin(acc control.Account) string {
	s := "Give the API key of " + acc.Label + "."
	if k, ok := configs.KnownProvider(acc.Provider); ok && k.Page != "" {
		s += " Keys are made at " + k.Page + " ."
	}
	s += " It is kept in " + a.Logins.Path() + ", which only you can read, and encrypted where the system has a keyring."
	return s + a.wins(acc)
}

// wins returns a note about the key that takes precedence over a stored one.
func (a Accounts) wins(acc control.Account) string {
	switch configs.KeySource(acc.Source) {
	case configs.KeyConfigured:
		return " The configuration names another key, which wins over it."
	case configs.KeyInEnv:
		return " " + acc.EnvVar + " is set, which wins over it."
	case configs.KeyGiven, "":
	}
	return ""
}

// Logout implements control.Accounts.
func (a Accounts) Logout(ctx context.Context, provider string) error {
	changed, err := a.Logins.Set(ctx, provider, "")
	if changed {
		a.Changed(provider)
	}
	return err
}
