package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dragoman/bridge"
	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/secrets"
	"dragoman/configs"
)

// newServer is what the command line says of a server to add.
type newServer struct {
	env, headers               []string
	dir, url, transport, start string
	replace                    bool
}

func (a *app) mcpServersAdd() *cobra.Command {
	var n newServer
	cmd := &cobra.Command{
		Use:   "add NAME [flags] (-- COMMAND [ARGUMENT…] | --url URL)",
		Short: "Write a server into the configuration",
		Long: `Write a server into the configuration: a program that speaks MCP on its standard input and
output, behind "--", or an address. Nothing else in the file changes, comments included.

A secret is best given as a reference: 'TOKEN=${env:TOKEN}' takes it from the environment,
${file:PATH} from a file, ${cmd:PROGRAM ARGUMENTS} from what a program prints.

A program is started in the folder of each session; --dir names another one.`,
		Example: `  dragoman mcp-servers add files -- npx -y @modelcontextprotocol/server-filesystem .
  dragoman mcp-servers add github --env 'TOKEN=${env:GH_TOKEN}' -- github-mcp-server stdio
  dragoman mcp-servers add tracker --url https://mcp.example.com/mcp \
      --header 'Authorization=Bearer ${file:~/.secrets/tracker}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("say what to call the server, and how it is started: add NAME -- COMMAND, or add NAME --url URL")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.addServer(ctx, args[0], args[1:], n)
		}),
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w; what belongs to the program stands behind \"--\"", err)
	})
	f := cmd.Flags()
	f.StringArrayVar(&n.env, "env", nil, "`NAME=VALUE` in the program's environment; may be given several times")
	f.StringArrayVar(&n.headers, "header", nil, "`NAME=VALUE` sent with every request to the URL; may be given several times")
	f.StringVar(&n.dir, "dir", "", "the `FOLDER` that the program is started in (default: the session's)")
	f.StringVar(&n.url, "url", "", "the `URL` of a server reached over HTTP")
	f.StringVar(&n.transport, "transport", "", "how a URL is spoken to: `http` (Streamable HTTP, the default) or sse")
	f.StringVar(&n.start, "start", "", "when it is started: `auto` (when it is needed, the default) or session")
	f.BoolVar(&n.replace, "replace", false, "change the entry that has the name")
	for flag, words := range map[string][]cobra.Completion{"transport": {"http", "sse"}, "start": {"auto", "session"}} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flags are there
	}
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

// addServer writes an entry and says what may be wrong with it.
func (a *app) addServer(ctx context.Context, name string, command []string, n newServer) error {
	s, err := n.entry(command)
	if err != nil {
		return err
	}
	edit := configs.AddServer
	if n.replace {
		edit = configs.PutServer
	}
	path, err := a.editConfig(ctx, nil, edit(name, s))
	if err != nil {
		if _, taken := a.serverNames()[name]; taken && !n.replace {
			err = fmt.Errorf("%w; --replace changes it, \"dragoman mcp-servers remove %s\" removes it", err, name)
		}
		return err
	}
	fmt.Fprintf(a.Out, "wrote the MCP server %s to %s\n\"dragoman mcp-servers list\" tries it.\n", name, path)
	a.warnOf(name, s)
	return nil
}

// entry is the server that the command line describes.
func (n newServer) entry(command []string) (s configs.MCPServer, err error) {
	switch {
	case n.url == "" && len(command) == 0:
		return s, errors.New("say how the server is started: add NAME -- COMMAND, or where it is: add NAME --url URL")
	case n.url != "" && len(command) > 0:
		return s, errors.New("a server is either a program or a URL: leave one of them out")
	case n.url != "" && (len(n.env) > 0 || n.dir != ""):
		return s, errors.New("--env and --dir belong to a program; a URL takes --header")
	case n.url == "" && (len(n.headers) > 0 || n.transport != ""):
		return s, errors.New("--header and --transport belong to a URL; a program takes --env")
	}
	s.URL, s.Transport, s.Start = configs.NewURL(n.url), n.transport, n.start
	if len(command) > 0 {
		program, err := ownPath(command[0])
		if err != nil {
			return s, err
		}
		s.Command = configs.NewValue(program)
		for _, arg := range command[1:] {
			s.Args = append(s.Args, configs.NewValue(arg))
		}
	}
	if n.dir != "" {
		dir, err := absolute(n.dir)
		if err != nil {
			return s, err
		}
		s.Dir = configs.NewValue(dir)
	}
	if s.Env, err = pairs("--env", n.env); err != nil {
		return s, err
	}
	s.Headers, err = pairs("--header", n.headers)
	return s, err
}

// ownPath makes the path of a program what it is from here: what it would be in the
// folder of a session is the session's affair, and no person's choice.
func ownPath(program string) (string, error) {
	if !strings.ContainsAny(program, `/\`) {
		return program, nil // it is looked for in PATH
	}
	return absolute(program)
}

func absolute(path string) (string, error) {
	if strings.HasPrefix(path, "~/") || strings.Contains(path, "${") {
		return path, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	return abs, nil
}

// pairs reads NAME=VALUE.
func pairs(flag string, list []string) (map[string]configs.Secret, error) {
	all := map[string]configs.Secret{}
	for _, kv := range list {
		name, value, ok := strings.Cut(kv, "=")
		switch _, twice := all[name]; {
		case !ok || name == "":
			return nil, fmt.Errorf("%s takes NAME=VALUE, and %q has no name in front of a =", flag, oneLine(name, 40))
		case twice:
			return nil, fmt.Errorf("%s %s is given twice", flag, name)
		}
		all[name] = configs.NewSecret(value)
	}
	return all, nil
}

// warnOf says what a person should know of an entry that was written.
func (a *app) warnOf(name string, s configs.MCPServer) {
	a.warnOfSecrets(name, s)
	if program := s.Command.String(); program != "" && !strings.Contains(program, "${") && !strings.HasPrefix(program, "~/") {
		if _, err := exec.LookPath(program); err != nil {
			a.warn("%s cannot be started now: %s", program, reason(err))
		}
	}
	c, err := a.LoadConfig(nil)
	if err != nil {
		return // it was checked before it was written
	}
	key := "mcp_servers." + name
	for _, w := range c.Warnings {
		if rest, ok := strings.CutPrefix(w.Key, key); ok && (rest == "" || strings.ContainsAny(rest[:1], ".[")) {
			a.warn("%s", w)
		}
	}
}

func (a *app) warnOfSecrets(name string, s configs.MCPServer) {
	for _, key := range s.PlainSecrets() {
		a.warn("%s of %s is written out in the file; a reference keeps it elsewhere: %s", key, name, referTo(key))
	}
}

// referTo shows how a secret could be written instead.
func referTo(key string) string {
	kind, name, _ := strings.Cut(key, ".")
	switch {
	case kind == "env":
		return "${env:" + name + "}"
	case strings.EqualFold(name, "Authorization"):
		return "Bearer ${env:NAME}"
	}
	return "${env:NAME}"
}

func (a *app) warn(format string, args ...any) {
	fmt.Fprintf(a.Err, "warning: %s\n", printable(fmt.Sprintf(format, args...)))
}

func (a *app) mcpServersRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm"},
		Short:   "Remove a server from the configuration",
		Long: `Remove a server from the configuration, and forget what was kept of it: what its tools said
when they were first seen, the login to it, which is taken back, and its log. Comments around its
entry stay.`,
		Example:           "  dragoman mcp-servers remove files",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeServers(nil),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			before, _ := a.LoadConfig(nil) // one that is wrong may be mended by this
			path, err := a.editConfig(ctx, nil, configs.DropServer(args[0]))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "removed the MCP server %s from %s\n", args[0], path)
			if err := a.takeLoginBack(ctx, before, args[0]); err != nil {
				a.warn("the login is forgotten here, but could not be taken back: %v", err)
			}
			return a.forgetServer(ctx, args[0])
		}),
	}
}

func (a *app) mcpServersDisable(disabled bool) *cobra.Command {
	does := map[bool]struct{ word, short, long, done string }{
		true: {
			"disable", "Leave a server alone",
			"Leave a server alone: it stays in the configuration, and nothing starts it or offers its tools.", "disabled",
		},
		false: {"enable", "Use a server that was disabled", "Use a server that was disabled in the configuration.", "enabled"},
	}[disabled]
	return &cobra.Command{
		Use: does.word + " NAME…", Short: does.short, Long: does.long, Example: "  dragoman mcp-servers " + does.word + " files",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeServers(func(s configs.MCPServer) bool { return s.Disabled != disabled }),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			var edits []configs.Edit
			for _, name := range args {
				edits = append(edits, configs.DisableServer(name, disabled))
			}
			path, err := a.editConfig(ctx, nil, edits...)
			if err == nil {
				fmt.Fprintf(a.Out, "%s %s in %s\n", does.done, strings.Join(args, ", "), path)
			}
			return err
		}),
	}
}

// takeBackFor is how long a server that is removed may take to take its login back.
const takeBackFor = 10 * time.Second

// takeLoginBack tells the authorization server of a server that its login is over.
func (a *app) takeLoginBack(ctx context.Context, c *configs.Config, server string) error {
	kept, ok := a.secrets.ServerLogins()
	if !ok {
		return nil
	}
	if had, err := kept.Has(server); err != nil || !had {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, takeBackFor, errors.New("there was no answer in time"))
	defer cancel()
	box := bridge.New(bridge.Options{Servers: serversOf(c, nil, a.Lookup, secrets.NewPrograms().Run), Environ: a.Environ(), Version: a.Version, Tokens: kept})
	defer box.Close()
	return box.Logout(ctx, server)
}

// forgetServer removes what was kept of a server.
func (a *app) forgetServer(ctx context.Context, name string) error {
	var err error
	if data, none := a.DataDir(); none == nil { // else nothing is kept anywhere
		err = logs.RemoveServer(data, name)
	}
	if kept, ok := a.secrets.ServerLogins(); ok {
		err = errors.Join(err, kept.Forget(name))
	}
	if file := a.pinFile(); file != "" {
		err = errors.Join(err, bridge.Forget(file, name))
	}
	if kept, ok := a.secrets.ServerLogins(); ok {
		if had, readErr := kept.Has(name); had || readErr != nil {
			err = errors.Join(err, kept.Change(ctx, name, func([]byte) ([]byte, error) { return nil, nil }))
		}
	}
	return err
}

// editConfig changes the user's configuration file, which lies over what an editor
// has set; editor may be nil.
func (a *app) editConfig(ctx context.Context, editor *configs.Config, edits ...configs.Edit) (path string, err error) {
	if a.ConfigFile() == "" {
		return "", errNoConfigPlace
	}
	return configs.EditFile(ctx, configs.Options{Path: a.Flags.Config, Env: a.Lookup, Editor: editor}, edits...)
}

// serverNames lists the servers of the configuration; none where it is wrong.
func (a *app) serverNames() map[string]configs.MCPServer {
	c, err := a.LoadConfig(nil)
	if err != nil {
		return nil
	}
	return c.MCPServers
}

// completeServers offers the names of servers, those that fit, to a shell.
func (a *app) completeServers(fits func(configs.MCPServer) bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		all := a.serverNames()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !slices.Contains(args, name) && (fits == nil || fits(all[name])) {
				names = append(names, name+"\t"+oneLine(all[name].Command.String()+all[name].URL.String(), 60))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// knownServer is a server of the configuration.
func (a *app) knownServer(name string) (*configs.Config, configs.MCPServer, error) {
	c, err := a.LoadConfig(nil)
	if err != nil {
		return nil, configs.MCPServer{}, fmt.Errorf("the configuration is wrong:\n%w", err)
	}
	s, ok := c.MCPServers[name]
	if ok {
		return c, s, nil
	}
	names := slices.Sorted(maps.Keys(c.MCPServers))
	msg := fmt.Sprintf("there is no MCP server %q", name)
	switch near := configs.Suggest(name, names); {
	case near != "":
		msg += fmt.Sprintf("; did you mean %q?", near)
	case len(names) > 0:
		msg += "; there are " + strings.Join(names, ", ")
	default:
		msg += "; there are none in the configuration"
	}
	return nil, configs.MCPServer{}, errors.New(msg)
}
