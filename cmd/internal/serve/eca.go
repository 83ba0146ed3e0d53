package serve

import (
	"context"
	"errors"
	"io"
	"strings"

	"dragoman/adapters/eca"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/setup"
	"dragoman/core"
	"dragoman/core/inference"
)

// ECA serves an editor that speaks the Editor Code Assistant protocol.
func ECA(ctx context.Context, o setup.Options) error {
	return stdio(ctx, o, "eca", func(g *connection) server {
		return ecaServer{eca.New(eca.Options{
			Gateway:   g.Gateway,
			Board:     g.profiles.Board(),
			Principal: g.principal,
			Profiles:  g.profiles,
			Log:       g.log,
			Version:   o.Env.Version,
			Welcome:   g.welcome,
			Configure: g.profiles.Configure,
			Shutdown:  g.Close,
		})}
	})
}

// ecaServer is an ECA server. Without a request to shut down the process fails, as the
// protocol requires; no message is printed, because no client is left to read it.
type ecaServer struct{ *eca.Server }

// Serve implements server.
func (s ecaServer) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	err := s.Server.Serve(ctx, in, out)
	if errors.Is(err, eca.ErrNoShutdown) {
		return program.ErrReported
	}
	return err
}

// welcome returns the text of an empty chat: version, what answers, and problems with the settings.
func (g *connection) welcome(p *core.Profile) string {
	var b strings.Builder
	b.WriteString("Welcome to dragoman " + g.version + ".")
	if p == nil {
		return b.String()
	}
	if a, ok := p.Agent(""); ok && a.External { // it has models of its own
		b.WriteString(" The agent " + a.Name + " answers.")
	} else {
		b.WriteString(" The model is " + inference.ModelsOf(p).Default + "." + g.offline())
	}
	if p.Fault != "" {
		b.WriteString("\n\nThe configuration has a mistake, so the previous one stays in use:\n" + p.Fault)
	}
	return b.String()
}

// offline returns advice if the model is the offline demo.
func (g *connection) offline() string {
	made, err := g.profiles.Load()
	if err != nil || !made.Finder.Choice.Offline() {
		return ""
	}
	return "\n\nThis is the offline demo, not a language model: " + made.Finder.Choice.Reason +
		". Say anything to learn how to set a model, give a key with /login PROVIDER, or try: list . then read README.md"
}
