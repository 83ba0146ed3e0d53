package eca_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/core"
)

// keys are accounts in memory. Whoever logs in to globex gets a model.
type keys struct {
	board   *core.Board
	changed func() // the profile is another one from now on

	mu   sync.Mutex // guards the field below
	have map[string]bool
}

var _ core.Accounts = (*keys)(nil)

func (k *keys) of(provider string) core.Account {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := core.Account{Provider: provider, Configured: k.have[provider]}
	if a.Configured {
		a.Source = "login"
	}
	switch provider {
	case "acme":
		a.Label, a.Methods = "Acme", []core.LoginMethod{{Key: "api-key", Label: "API key"}, {Key: "console"}}
	case "globex":
		a.EnvVar, a.Methods = "GLOBEX_API_KEY", []core.LoginMethod{{Key: "api-key", Label: "API key"}}
	case "offline":
		a.Local = true
	}
	return a
}

// List implements core.Accounts.
func (k *keys) List(context.Context) []core.Account {
	return []core.Account{k.of("acme"), k.of("globex"), k.of("offline")}
}

// Login implements core.Accounts.
func (k *keys) Login(_ context.Context, provider, method string, fields map[string]string) (core.LoginStep, error) {
	switch {
	case provider != "acme" && provider != "globex":
		return core.LoginStep{}, errors.New("there is no provider of that name")
	case method == "console" && fields == nil:
		return core.LoginStep{Message: "Log in there, and give the code.", URL: "https://acme.example/login", Fields: []core.LoginField{{Key: "code"}}}, nil
	case fields == nil:
		return core.LoginStep{Message: "Give the key.", Fields: []core.LoginField{{Key: "key", Label: "API key", Secret: true}}}, nil
	case fields["key"] == "" && fields["code"] == "":
		return core.LoginStep{}, errors.New("100% wrong: this is no key")
	}
	k.set(provider, true)
	return core.LoginStep{}, nil
}

// Logout implements core.Accounts.
func (k *keys) Logout(_ context.Context, provider string) error {
	k.set(provider, false)
	return nil
}

func (k *keys) set(provider string, in bool) {
	k.mu.Lock()
	k.have[provider] = in
	k.mu.Unlock()
	k.changed()
	k.board.Put(core.Topic{Kind: "account", Name: provider}, core.AccountsItem{Account: k.of(provider)})
}

// job is a command that only says that it runs.
type job struct {
	board *core.Board
	info  core.JobInfo
}

func (j *job) post() {
	j.board.Put(core.Topic{Kind: "job", Name: j.info.ID, Principal: core.Local}, core.JobItem{Info: j.info, Job: j})
}

// Kill implements core.Job.
func (j *job) Kill(ctx context.Context) (bool, error) {
	if j.info.Command == "stubborn" {
		<-ctx.Done()
		return false, ctx.Err()
	}
	if j.info.Status != core.JobRunning {
		return false, nil
	}
	done := *j
	done.info.Status, done.info.Ended = core.JobKilled, time.Now()
	done.post()
	return true, nil
}

// Output implements core.Job.
func (j *job) Output() []core.JobLine {
	return []core.JobLine{{Text: "listening"}, {Text: "a warning", Stderr: true}}
}
