package acp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"dragoman/adapters/acp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/control"
	"dragoman/core/coretest"
)

// accounts has two providers, of which the first is chosen.
type accounts struct {
	is  control.Account
	err error
}

func (a *accounts) Chosen(context.Context) (control.Account, error) { return a.is, a.err }

func (a *accounts) List(context.Context) []control.Account {
	return []control.Account{a.is, {Provider: "other", Label: "Other", Configured: true, Source: "env"}, {Provider: "local", Label: "Local", Configured: true}}
}

func (a *accounts) Logout(_ context.Context, provider string) error {
	if provider == a.is.Provider && a.is.Source == "login" {
		a.is.Configured, a.is.Source = false, ""
	}
	return nil
}

// Each file is a conversation; each part has the account that its name says.
func TestSignIn(t *testing.T) {
	cloud := control.Account{Provider: "cloud", Label: "Cloud", EnvVar: "CLOUD_KEY"}
	of := func(source string, configured bool) *accounts {
		is := cloud
		is.Source, is.Configured = source, configured
		return &accounts{is: is}
	}
	made := map[string]func() *accounts{
		"missing":    func() *accounts { return of("", false) },
		"login":      func() *accounts { return of("login", true) },
		"variable":   func() *accounts { return of("env", true) },
		"unreadable": func() *accounts { return of("config", false) },
		"demo":       func() *accounts { return of("", true) },
		"invalid":    func() *accounts { return &accounts{err: errors.New("config.yaml:1:1: unknown key")} },
	}
	coretest.Golden(t, "testdata/signin/*.txtar", *updateGolden, func(t *testing.T, _ string, ar *txtar.Archive) {
		for i, f := range ar.Files {
			name, _, _ := strings.Cut(f.Name, ",")
			synctest.Test(t, func(t *testing.T) {
				g := newGateway(coretest.NewMemory(), nil, false)
				server := acp.New(acp.Options{Gateway: g, Principal: core.Local, SignIn: made[name]()})
				peer, stop := wiretest.Serve(t, wire.Newline, server.Serve)
				got, err := peer.Play(string(f.Data), synctest.Wait)
				if err != nil {
					t.Error(err)
				}
				ar.Files[i].Data = []byte(got)
				stop()
				if err := g.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	})
}
