package main

import (
	"context"
	"errors"
	"io"
	"sync"

	"go.uber.org/zap"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/setup"
	"dragoman/core"
	"dragoman/core/jsonl"
)

// house is what commands that run turns live in.
type house struct {
	gateway  *core.Gateway
	profiles *setup.Profiles
	log      *zap.Logger
}

// inHouse puts everything together, lets f live in it and takes it apart again,
// in this order: f (the adapters), sessions, the log. Nothing is read or opened
// before it is needed, so that the first answer costs nothing.
func (a *app) inHouse(ctx context.Context, f func(context.Context, *house) error) error {
	log, err := a.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	dir, err := a.DataDir()
	if err != nil {
		return err
	}
	ctx, stop := program.UntilSignal(ctx, !a.ownInterrupt)
	defer stop()

	h := &house{log: log.Logger, profiles: a.newProfiles(log)}
	store := jsonl.New(dir)
	h.gateway = core.New(core.Config{Store: store, Profile: h.profiles.Get, Before: h.profiles.Consent, Node: program.Node()})
	h.profiles.Join(h.gateway)
	err = h.watched(ctx, f)
	if errors.Is(err, core.ErrShutdown) { // a signal: that is what was wanted
		err = nil
	}
	err = errors.Join(err, h.close(context.WithoutCancel(ctx)), store.Close())
	h.profiles.Close()
	return err
}

// newProfiles prepares profiles of this run.
func (a *app) newProfiles(log *logs.Log) *setup.Profiles {
	return setup.New(setup.Options{Env: a.Environment, Secrets: a.secrets, Servers: a.servers, Log: log})
}

// openLog starts the program's log as the flags say.
func (a *app) openLog() (*logs.Log, error) {
	return logs.Open(logs.Options{Level: a.Flags.LogLevel, File: a.Flags.LogFile, Err: a.Err, Env: a.Lookup})
}

// close ends all sessions. Behind the first call it has nothing left to do.
func (h *house) close(ctx context.Context) error {
	ctx, done := context.WithTimeoutCause(ctx, program.ShutdownFor, errors.New("the sessions did not end in time"))
	defer done()
	return h.gateway.Close(ctx)
}

// watched lets f live in the house while changes of the configuration are noticed.
func (h *house) watched(ctx context.Context, f func(context.Context, *house) error) error {
	watching, enough := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { h.profiles.Watch(watching) })
	defer watch.Wait()
	defer enough()
	return f(ctx, h)
}

// server is an adapter on one connection.
type server interface {
	Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error
}

// serveStdio speaks a protocol over standard input and output until the client
// leaves or a signal comes.
func (a *app) serveStdio(ctx context.Context, protocol string, make func(*house) server) error {
	return a.inHouse(ctx, func(ctx context.Context, h *house) error {
		in, out, err := wire.Stdio()
		if err != nil {
			return err
		}
		h.log = h.log.With(zap.String("protocol", protocol))
		h.log.Info("speaking", zap.String("version", a.Version))
		h.profiles.People, h.profiles.Quiet = protocol != "mcp", protocol == "acp" || protocol == "eca"
		err = make(h).Serve(ctx, in, out)
		h.log.Info("ended", zap.Error(err))
		return err
	})
}
