package eca_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/control"
)

// keys are accounts in memory. A login to globex adds a model.
type keys struct {
	board   *board.Board
	changed func() // called when the profile is replaced

	mu   sync.Mutex // guards the field below
	have map[string]bool
}

var _ control.Accounts = (*keys)(nil)

func (*keys) Keys() {}

func (k *keys) of(provider string) control.Account {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := control.Account{Provider: provider, Configured: k.have[provider]}
	if a.Configured {
		a.Source = "login"
	}
	switch provider {
	case "acme":
		a.Label, a.Methods = "Acme", []control.LoginMethod{{Key: "api-key", Label: "API key"}, {Key: "console"}}
	case "globex":
		a.EnvVar, a.Methods = "GLOBEX_API_KEY", []control.LoginMethod{{Key: "api-key", Label: "API key"}}
	case "offline":
		a.Local = true
	}
	return a
}

// List implements control.Accounts.
func (k *keys) List(context.Context) []control.Account {
	return []control.Account{k.of("acme"), k.of("globex"), k.of("offline")}
}

// Login implements control.Accounts.
func (k *keys) Login(_ context.Context, provider, method string, fields map[string]string) (control.LoginStep, error) {
	switch {
	case provider != "acme" && provider != "globex":
		return control.LoginStep{}, errors.New("there is no provider of that name")
	case method == "console" && fields == nil:
		return control.LoginStep{Message: "Log in there, and give the code.", URL: "https://acme.example/login", Fields: []control.LoginField{{Key: "code"}}}, nil
	case fields == nil:
		return control.LoginStep{Message: "Give the key.", Fields: []control.LoginField{{Key: "key", Label: "API key", Secret: true}}}, nil
	case fields["key"] == "" && fields["code"] == "":
		return control.LoginStep{}, errors.New("100% wrong: this is no key")
	}
	k.set(provider, true)
	return control.LoginStep{}, nil
}

// Logout implements control.Accounts.
func (k *keys) Logout(_ context.Context, provider string) error {
	k.set(provider, false)
	return nil
}

func (k *keys) set(provider string, in bool) {
	k.mu.Lock()
	k.have[provider] = in
	k.mu.Unlock()
	k.changed()
	k.board.Put(board.Topic{Kind: "account", Name: provider}, board.Account{Account: k.of(provider)})
}

// job is a command that only appears to run.
type job struct {
	board *board.Board
	info  board.JobInfo
}

func (j *job) post() {
	j.board.Put(board.Topic{Kind: "job", Name: j.info.ID, Principal: core.Local}, board.Job{Info: j.info, Control: j})
}

// Kill implements board.JobControl.
func (j *job) Kill(ctx context.Context) (bool, error) {
	if j.info.Command == "stubborn" {
		<-ctx.Done()
		return false, ctx.Err()
	}
	if j.info.Status != board.JobRunning {
		return false, nil
	}
	done := *j
	done.info.Status, done.info.Ended = board.JobKilled, time.Now()
	done.post()
	return true, nil
}

// Output implements board.JobControl.
func (j *job) Output() []board.JobLine {
	return []board.JobLine{{Text: "listening"}, {Text: "a warning", Stderr: true}}
}
