package setup

import (
	"context"

	"dragoman/adapters/acp"
	"dragoman/core/control"
)

// SignIn returns the keys of the providers of models, for a client that shows them.
func (c *Client) SignIn() acp.SignIn { return signIn{c} }

// signIn implements acp.SignIn.
type signIn struct{ c *Client }

var _ acp.SignIn = signIn{}

// Chosen implements acp.SignIn.
func (s signIn) Chosen(context.Context) (control.Account, error) {
	c, err := s.c.edition().configured()
	if err != nil {
		return control.Account{}, err
	}
	keys := s.c.Accounts()
	return keys.Of(c, c.ChooseModel(keys.Env, keys.Logins.Look()).Provider), nil
}

// List implements acp.SignIn.
func (s signIn) List(ctx context.Context) []control.Account { return s.c.Accounts().List(ctx) }

// Logout implements acp.SignIn.
func (s signIn) Logout(ctx context.Context, provider string) error {
	return s.c.Accounts().Logout(ctx, provider)
}
