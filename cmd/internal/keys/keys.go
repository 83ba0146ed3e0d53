// Package keys reads keys of providers from a person at a terminal, and removes them.
//
// # What holds
//
//   - A key is read invisibly, or from a pipe, and is never printed.
//   - The keyring may wait for a person at the terminal to unlock it.
package keys

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
	"dragoman/cmd/internal/setup"
	"dragoman/cmd/internal/terminal"
	"dragoman/core"
	"dragoman/core/commands"
	"dragoman/core/control"
	"dragoman/core/display"
)

// List prints the providers and the sources of their keys.
func List(ctx context.Context, o setup.Options) error {
	return with(o, func(acc secrets.Accounts) error {
		for _, is := range acc.List(ctx) {
			if _, err := fmt.Fprintf(o.Env.Out, "%-12s %s\n", is.Provider, commands.KeySource(is)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Give asks for the key of a provider and stores it.
func Give(ctx context.Context, o setup.Options, provider string) error {
	return with(o, func(acc secrets.Accounts) error {
		step, err := acc.Login(ctx, provider, "", nil)
		if err != nil {
			return err
		}
		key, err := readKey(o.Env, step)
		if err != nil {
			return err
		}
		if step, err = acc.Login(ctx, provider, "", map[string]string{step.Fields[0].Key: key}); err != nil {
			return err
		}
		_, err = fmt.Fprintln(o.Env.Out, step.Message)
		return err
	})
}

// Forget removes the stored key of a provider.
func Forget(ctx context.Context, o setup.Options, provider string) error {
	return with(o, func(acc secrets.Accounts) error {
		if !acc.Logins.Has(provider) {
			if err := acc.Logins.Check(); err != nil {
				return err
			}
			_, err := fmt.Fprintf(o.Env.Out, "No key is stored for %s.\n", display.Line(provider, 60))
			return err
		}
		if err := acc.Logout(ctx, provider); err != nil {
			return err
		}
		_, err := fmt.Fprintf(o.Env.Out, "The key of %s is removed.\n", display.Line(provider, 60))
		return err
	})
}

// with calls f with the keys, without a gateway.
func with(o setup.Options, f func(secrets.Accounts) error) error {
	if terminal.Is(o.Env.In) {
		o.Secrets.Patient()
	}
	l, err := setup.OpenLog(o.Env)
	if err != nil {
		return err
	}
	defer l.Close()
	o.Log = l
	p := setup.New(o)
	defer p.Close()
	c := p.Client(setup.ClientOptions{Principal: core.Local})
	defer c.Close()
	if _, err := c.Load(); err != nil {
		return program.ConfigError(err)
	}
	return f(c.Accounts())
}

// readKey reads a key invisibly from the terminal, or from a pipe.
func readKey(env *program.Environment, step control.LoginStep) (string, error) {
	if !terminal.Is(env.In) {
		return firstLine(env.In)
	}
	fmt.Fprintf(env.Err, "%s\n%s: ", step.Message, step.Fields[0].Label)
	defer fmt.Fprintln(env.Err)
	return terminal.ReadHidden(env.In, "key")
}

// firstLine returns the first line of a pipe, without blanks around it.
func firstLine(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, secrets.MaxKey+2)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the key: %w", err)
	}
	return strings.TrimSpace(line), nil
}
