package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/signin"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
	"dragoman/cmd/internal/terminal"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/display"
)

// NotesFile is the name of the file in the data folder that notes how to log in to agents.
const NotesFile = "agent-logins.json"

// Login logs in to an external agent at this terminal, by one of its methods or, if that is empty, by
// the one that the user chooses. browse opens the pages that the agent wants opened; their addresses
// are printed in any case.
func Login(ctx context.Context, env *program.Environment, name, method string, browse bool) error {
	b, err := configured(env, name)
	if err != nil {
		return err
	}
	ctx, stop := program.UntilSignal(ctx, true)
	defer stop()
	fmt.Fprintf(env.Err, "Starting agent %s; it may open a page in your browser.\n", name)
	m, err := b.Login(ctx, method, signin.LoginTerminal{
		In: env.In, Out: env.Out, Err: env.Err,
		Choose: func(list []signin.Method) (signin.Method, error) { return choose(env, name, list) },
		Hear:   hearing(env, name, browse),
		Input:  func(label string, secret bool) (string, error) { return input(env, name, label, secret) },
	})
	if err := ended(ctx, b, name, err); err != nil {
		return err
	}
	done := "You are logged in to agent " + name + "."
	if m.Terminal {
		done = "The login program of agent " + name + " has ended."
	}
	_, err = fmt.Fprintln(env.Out, done+" Open sessions use the login from their next prompt on.")
	return err
}

// Logout has an external agent forget its login.
func Logout(ctx context.Context, env *program.Environment, name string) error {
	b, err := configured(env, name)
	if err != nil {
		return err
	}
	ctx, stop := program.UntilSignal(ctx, true)
	defer stop()
	if err := ended(ctx, b, name, b.Logout(ctx)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "Agent %s has forgotten its login.\n", name)
	return err
}

// configured returns the back end of an external agent of the configuration.
func configured(env *program.Environment, name string) (Backend, error) {
	c, err := env.LoadConfig(nil)
	if err != nil {
		return nil, program.ConfigError(err)
	}
	if err := Check(c, name); err != nil {
		return nil, err
	}
	o := Options(name, c.Agents[name], env.Lookup, secrets.NewPrograms().Run, agent.Options{
		Version: env.Version, Pool: agent.NewPool(), Guards: &child.Guards{}, Environ: env.Environ,
		Notes: signin.NewNotes(env.DataFile(NotesFile)),
	})
	return Make(c.Agents[name], Checked(Records(env), c.Agents[name], asking(env), o), nil), nil
}

// ended closes a back end, and returns the error of what was done with it for the user.
func ended(ctx context.Context, b Backend, name string, err error) error {
	err = errors.Join(err, b.Close(context.WithoutCancel(ctx)))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if missing, ok := errors.AsType[*core.SignInError](err); ok {
		return fmt.Errorf("agent %s: %s", name, missing.Text)
	}
	return err
}

// hearing shows what the agent says during the login.
func hearing(env *program.Environment, name string, browse bool) signin.Listener {
	return func(_ context.Context, s signin.Saying) bool {
		if s.Text != "" {
			fmt.Fprintf(env.Err, "%s: %s\n", name, s.Text)
		}
		if s.URL == "" {
			return true
		}
		fmt.Fprintf(env.Err, "Log in in the browser, at:\n\n  %s\n\n", display.Plain(s.URL))
		if browse && env.Browse != nil {
			if err := env.Browse(s.URL); err != nil {
				fmt.Fprintf(env.Err, "No browser could be opened (%v): open the address yourself.\n", err)
			}
		}
		return true
	}
}

// choose asks which of several ways to take. Where nobody can be asked it is a mistake in the command
// line to name none.
func choose(env *program.Environment, name string, list []signin.Method) (m signin.Method, err error) {
	var b strings.Builder
	for i, s := range list {
		fmt.Fprintf(&b, "  %d  %s", i+1, display.Line(s.Name, 100))
		if s.Description != "" {
			fmt.Fprintf(&b, ": %s", display.Line(s.Description, 200))
		}
		fmt.Fprintf(&b, " (%s)\n", display.Line(s.ID, 100))
	}
	unnamed := program.UsageError{Err: fmt.Errorf("agent %s has several ways to log in; name one of these in brackets:\n%s", name, strings.TrimRight(b.String(), "\n"))}
	if !terminal.Is(env.In) {
		return m, unnamed
	}
	fmt.Fprintf(env.Err, "Ways to log in to agent %s:\n%s", name, b.String())
	for {
		fmt.Fprintf(env.Err, "Which one (1 to %d)? ", len(list))
		line, err := readLine(env.In)
		if err != nil {
			fmt.Fprintln(env.Err)
			return m, unnamed
		}
		for i, s := range list {
			if line == s.ID || line == strconv.Itoa(i+1) {
				return s, nil
			}
		}
	}
}

// readLine reads a line and not more: the rest is for the agent's program.
func readLine(in io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := in.Read(b)
		if n == 1 && b[0] == '\n' {
			return strings.TrimSpace(string(line)), nil
		}
		line = append(line, b[:n]...)
		if err != nil {
			return "", err
		}
	}
}

// input asks the user for a text of a login.
func input(env *program.Environment, name, label string, secret bool) (string, error) {
	if !terminal.Is(env.In) {
		return "", program.UsageError{Err: fmt.Errorf("the login of agent %s asks for %q, which needs a terminal", name, label)}
	}
	fmt.Fprintf(env.Err, "%s: ", label)
	if !secret {
		return readLine(env.In)
	}
	text, err := terminal.ReadHidden(env.In, label)
	fmt.Fprintln(env.Err)
	return text, err
}
