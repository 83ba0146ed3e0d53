package servers

import (
	"context"
	"maps"
	"slices"
	"strings"

	"dragoman/bridge/login"
	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/program"
	"dragoman/configs"
)

// Of translates the servers of a configuration. rev counts the changes of each; nil: no changes. confine
// returns what starts a server's program in a sandbox.
func Of(c *configs.Config, rev map[string]int, env configs.Env, run configs.Run, confine func(name string) upstream.Confine) []upstream.Server {
	var list []upstream.Server
	for _, name := range slices.Sorted(maps.Keys(c.Unusable)) {
		m := c.Unusable[name]
		if _, usable := c.MCPServers[name]; usable {
			continue // the editor also names one
		}
		list = append(list, upstream.Server{
			Name:     name,
			Rev:      rev[name],
			Endpoint: func(context.Context) (e upstream.Endpoint, err error) { return e, m.Err },
			Disabled: m.Entry.Disabled,
			Location: upstream.Location{Command: m.Entry.Command.String(), URL: m.Entry.URL.String()},
		})
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		m := c.MCPServers[name]
		s := upstream.Server{
			Name:         name,
			Rev:          rev[name],
			Endpoint:     func(ctx context.Context) (upstream.Endpoint, error) { return endpointOf(ctx, m, env, run) },
			Disabled:     m.Disabled,
			Eager:        m.Start == "session",
			Allow:        m.Tools,
			Deny:         m.WithoutTools,
			Confirm:      c.FromEditor(Key(name)),
			StartTimeout: m.StartTimeout,
			CallTimeout:  m.CallTimeout,
			Confine:      confine(name),
			Location:     upstream.Location{Command: m.Command.String(), URL: m.URL.String()},
		}
		for _, arg := range m.Args {
			s.Location.Args = append(s.Location.Args, arg.String())
		}
		list = append(list, s)
	}
	return list
}

// endpointOf looks the references up, so that a key may change between two starts. The error
// names the place of a mistake in the file.
func endpointOf(
	ctx context.Context,
	m configs.MCPServer,
	env configs.Env,
	run configs.Run,
) (e upstream.Endpoint, err error) {
	env = withFolders(env)
	e.SSE = m.Transport == "sse"
	if e.Command, err = m.Command.Resolve(env); err != nil {
		return e, err
	}
	if home, ok := strings.CutPrefix(e.Command, "~/"); ok {
		e.Command = program.Home(env) + "/" + home
	}
	if e.URL, err = m.URL.Resolve(env); err != nil {
		return e, err
	}
	if e.Dir, err = m.Dir.ResolvePath(env); err != nil {
		return e, err
	}
	for _, arg := range m.Args {
		s, err := arg.Resolve(env)
		if err != nil {
			return e, err
		}
		e.Args = append(e.Args, s)
	}
	if e.Env, err = configs.ResolveSecrets(ctx, m.Env, env, run); err != nil {
		return e, err
	}
	if e.Headers, err = configs.ResolveSecrets(ctx, m.Headers, env, run); err != nil {
		return e, err
	}
	e.OAuth = login.Config{Scopes: m.OAuth.Scopes, Port: m.OAuth.RedirectPort}
	if e.OAuth.ClientID, err = m.OAuth.ClientID.Resolve(env); err != nil {
		return e, err
	}
	if e.OAuth.Issuer, err = m.OAuth.Issuer.Resolve(env); err != nil {
		return e, err
	}
	e.OAuth.ClientSecret, err = m.OAuth.ClientSecret.ResolveWith(ctx, env, run)
	return e, err
}

// withFolders returns an environment that also has ${workspaceFolder} and ${userHome}, as in
// other programs.
func withFolders(env configs.Env) configs.Env {
	return func(name string) (string, bool) {
		switch name {
		case "workspaceFolder":
			return upstream.Folder, true
		case "userHome":
			home := program.Home(env)
			return home, home != ""
		}
		return env(name)
	}
}

// Key returns the key of a server in the configuration.
func Key(name string) string { return "mcp_servers." + name }
