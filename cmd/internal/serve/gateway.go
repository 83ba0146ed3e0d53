package serve

import (
	"context"
	"errors"
	"io"
	"sync"

	"go.uber.org/zap"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/setup"
	"dragoman/core"
	"dragoman/core/jsonl"
)

// Gateway is a core.Gateway with the profiles of the configuration.
type Gateway struct {
	*core.Gateway
	Profiles *setup.Profiles
	Log      *zap.Logger

	version string // of the program
}

// run puts everything together, lets f serve it and takes it apart again, in this order: f (the
// adapters), sessions, the log. Nothing is read or opened before it is needed, so that the first
// answer costs nothing. interrupt says that SIGINT is a signal to end, too.
func run(ctx context.Context, o setup.Options, interrupt bool, f func(context.Context, *Gateway) error) error {
	log, err := setup.OpenLog(o.Env)
	if err != nil {
		return err
	}
	defer log.Close()
	dir, err := o.Env.DataDir()
	if err != nil {
		return err
	}
	ctx, stop := program.UntilSignal(ctx, interrupt)
	defer stop()

	o.Log = log
	g := &Gateway{version: o.Env.Version, Log: log.Logger, Profiles: setup.New(o)}
	store := jsonl.New(dir)
	g.Gateway = core.New(
		core.Config{
			Store:   store,
			Profile: g.Profiles.Get,
			Rules:   g.Profiles.Rules,
			Before:  g.Profiles.Consent,
			Node:    program.Node(),
		},
	)
	g.Profiles.Join(g.Gateway)
	err = g.watched(ctx, f)
	if errors.Is(err, core.ErrShutdown) { // a signal: that is what was wanted
		err = nil
	}
	err = errors.Join(err, g.Close(context.WithoutCancel(ctx)), store.Close())
	g.Profiles.Close()
	return err
}

// Close ends all sessions. Behind the first call it has nothing left to do.
func (g *Gateway) Close(ctx context.Context) error {
	ctx, done := context.WithTimeoutCause(
		ctx,
		program.ShutdownFor,
		errors.New("the sessions did not end in time"),
	)
	defer done()
	return g.Gateway.Close(ctx)
}

// watched lets f serve while changes of the configuration are noticed.
func (g *Gateway) watched(ctx context.Context, f func(context.Context, *Gateway) error) error {
	watching, enough := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { g.Profiles.Watch(watching) })
	defer watch.Wait()
	defer enough()
	return f(ctx, g)
}

// server is an adapter on one connection.
type server interface {
	Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error
}

// stdio speaks a protocol over standard input and output until the client leaves or a signal
// comes.
func stdio(ctx context.Context, o setup.Options, protocol string, adapter func(*Gateway) server) error {
	return run(ctx, o, true, func(ctx context.Context, g *Gateway) error {
		in, out, err := wire.Stdio()
		if err != nil {
			return err
		}
		g.Log = g.Log.With(zap.String("protocol", protocol))
		g.Log.Info("speaking", zap.String("version", o.Env.Version))
		g.Profiles.People, g.Profiles.Quiet = protocol != "mcp", protocol == "acp" || protocol == "eca"
		err = adapter(g).Serve(ctx, in, out)
		g.Log.Info("ended", zap.Error(err))
		return err
	})
}
