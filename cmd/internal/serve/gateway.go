package serve

import (
	"context"
	"errors"
	"io"
	"sync"

	"go.uber.org/zap"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/retention"
	"dragoman/cmd/internal/setup"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/jsonl"
)

// gateway is a core.Gateway with the shared state of all connections of the process.
type gateway struct {
	*core.Gateway
	process *setup.Process
	store   *jsonl.Store
	log     *zap.Logger

	version string // of the program
}

// connection is a gateway from the view of one connection.
type connection struct {
	*gateway
	principal core.Principal
	profiles  *setup.Client
}

// run builds everything, lets f serve a connection of the user who started the process, and closes
// it again, in this order: f (the adapters), sessions, the log. Nothing is opened before it is needed,
// and the configuration is read meanwhile, so that the first answer costs little. interrupt includes
// SIGINT in the signals to end.
func run(
	ctx context.Context,
	o setup.Options,
	as setup.ClientOptions,
	interrupt bool,
	f func(context.Context, *connection) error,
) error {
	log, err := setup.OpenLog(o.Env)
	if err != nil {
		return err
	}
	defer log.Close()
	dir, err := o.Env.DataDir()
	if err != nil {
		return err
	}
	o.Log, as.Principal = log, core.Local
	process := setup.New(o)
	c := &connection{
		gateway:   &gateway{version: o.Env.Version, log: log.Logger, process: process},
		principal: core.Local,
		profiles:  process.Client(as),
	}
	var ahead sync.WaitGroup
	ahead.Go(c.profiles.ReadAhead)
	ctx, stop := program.UntilSignal(ctx, interrupt)
	defer stop()

	g := c.gateway
	store, sharing := jsonl.New(dir), g.process.Share()
	store.Address, g.store = sharing.Address, store
	config := g.process.Config(g.process.Store(store))
	config.Sharing = sharing
	g.Gateway = core.New(config)
	sharing.Serve(g.Gateway)
	g.process.Join(g.Gateway)
	old := retention.Daily{Dir: dir, Store: store, Gateway: g.Gateway, Log: g.log, Rules: func() (configs.Sessions, error) {
		c, err := o.Env.LoadConfig(nil) // an editor's settings do not count
		return c.Sessions, err
	}}
	err = withProfiles(ctx, o.Env.Flags.Pprof, log.Logger, func() error { return c.watched(ctx, old, f) })
	ahead.Wait()
	c.profiles.Close()
	if errors.Is(err, core.ErrShutdown) { // a signal requested the end
		err = nil
	}
	err = errors.Join(err, g.Close(context.WithoutCancel(ctx)), store.Close())
	sharing.Close()
	g.process.Close()
	return err
}

// Close ends all sessions. A second call does nothing.
func (g *gateway) Close(ctx context.Context) error {
	ctx, done := context.WithTimeoutCause(
		ctx,
		program.ShutdownFor,
		errors.New("the sessions did not end in time"),
	)
	defer done()
	return g.Gateway.Close(ctx)
}

// watched lets f serve while the configuration is watched, old sessions are looked after, and unused memory is
// given back.
func (g *connection) watched(ctx context.Context, old retention.Daily, f func(context.Context, *connection) error) error {
	watching, enough := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { g.process.Watch(watching) })
	watch.Go(func() { old.Run(watching) })
	watch.Go(func() { rest(watching) })
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
func stdio(ctx context.Context, o setup.Options, protocol string, adapter func(*connection) server) error {
	as := setup.ClientOptions{People: protocol != "mcp", Quiet: protocol == "acp" || protocol == "eca"}
	return run(ctx, o, as, true, func(ctx context.Context, c *connection) error {
		in, out, err := wire.Stdio()
		if err != nil {
			return err
		}
		c.log = c.log.With(zap.String("protocol", protocol))
		c.log.Info("speaking", zap.String("version", o.Env.Version))
		err = adapter(c).Serve(ctx, in, out)
		c.log.Info("ended", zap.Error(err))
		return err
	})
}
