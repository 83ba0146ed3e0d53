package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"dragoman/bridge"
	"dragoman/cmd/internal/program"
	"dragoman/core/lock"
)

// serverLoginDir is where the logins to MCP servers are kept, in the data folder: a
// file for each, so that one whose token is being renewed keeps no other waiting.
const serverLoginDir = "mcp-logins"

// serverLogins are the logins to MCP servers.
type serverLogins struct {
	dir   string
	vault *vault
}

var _ bridge.TokenStore = serverLogins{}

// keptServer is the file of a server: what the bridge keeps, encrypted or as it is.
type keptServer struct {
	Version int    `json:"version"`
	Server  string `json:"server"` // for people
	Sealed  string `json:"sealed,omitempty"`
	Login   []byte `json:"login,omitempty"`
}

// serverLogins finds the folder; nil: there is none.
func (a *app) serverLogins() bridge.TokenStore {
	dir, err := a.DataDir()
	if err != nil {
		return nil
	}
	return serverLogins{filepath.Join(dir, serverLoginDir), a.vaultIn(dir)}
}

// path is a server's file. Its name is nobody's to choose.
func (s serverLogins) path(server string) string {
	sum := sha256.Sum256([]byte(server))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

// read is what is kept, as it is kept; nil: nothing.
func (s serverLogins) read(server string) (*keptServer, error) {
	data, err := os.ReadFile(s.path(server))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var kept keptServer
	if err == nil && (json.Unmarshal(data, &kept) != nil || kept.Version != 1 || kept.Server != server) {
		err = fmt.Errorf("%s is not in a form that this version knows; remove it and log in again", s.path(server))
	}
	if err != nil {
		return nil, err
	}
	return &kept, nil
}

// Load implements bridge.TokenStore.
func (s serverLogins) Load(ctx context.Context, server string) ([]byte, error) {
	kept, err := s.read(server)
	switch {
	case err != nil || kept == nil:
		return nil, err
	case kept.Sealed != "":
		return s.vault.open(ctx, "mcp server "+server, kept.Sealed)
	}
	return kept.Login, nil
}

// Change implements bridge.TokenStore.
func (s serverLogins) Change(ctx context.Context, server string, change func([]byte) ([]byte, error)) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	held, err := lock.Wait(ctx, s.path(server)+".lock")
	if err != nil {
		return err
	}
	defer held.Unlock() //nolint:errcheck // it is locked no more in any case
	old, fault := s.Load(ctx, server)
	next, err := change(old) // of what cannot be read it makes something new
	if err != nil {
		return errors.Join(err, fault)
	}
	switch {
	case next == nil:
		return remove(s.path(server))
	case fault == nil && string(next) == string(old):
		return nil
	}
	kept := keptServer{Version: 1, Server: server, Login: next}
	if sealed, err := s.vault.seal(ctx, "mcp server "+server, next); err == nil {
		kept.Login, kept.Sealed = nil, sealed
	} // else it is kept as it is, which where says
	data, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return writePrivate(s.path(server), append(data, '\n'))
}

// forget removes what is kept for a server, if anything is.
func (s serverLogins) forget(server string) error {
	return errors.Join(remove(s.path(server)), remove(s.path(server)+".lock"))
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// where says how the login to a server is kept; "": there is none.
func (s serverLogins) where(ctx context.Context, server string) string {
	kept, err := s.read(server)
	switch {
	case err != nil || kept == nil:
		return ""
	case kept.Sealed != "":
		return "in " + s.path(server) + ", encrypted with a key of the system's keyring"
	}
	return "unencrypted in " + s.path(server) + ", which only you can read (" + s.vault.fault(ctx) + ")"
}

func (a *app) mcpServersLogin() *cobra.Command {
	var noBrowser bool
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in to a server in the browser",
		Long: `Log in to a server that wants it (mcp-servers list says so). The browser is opened at the address
that the server names; where that cannot be done, open it yourself on this machine. The login is
kept in the data folder, encrypted with a key of the system's keyring where there is one, and is
renewed by itself. Editors that are connected use it at once, or at their next prompt.

A server whose authorization server registers no clients by itself wants a client_id: see oauth
below mcp_servers in the example that "dragoman config init" writes.`,
		Example: `  dragoman mcp-servers login tracker
  dragoman mcp-servers login tracker --no-browser`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeServers(nil),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			ctx, stop := program.UntilSignal(ctx, true)
			defer stop()
			return a.withServers(func(box *bridge.Box, kept serverLogins) error {
				err := box.Login(ctx, args[0], func(address string) {
					fmt.Fprintf(a.Err, "Log in in the browser, at:\n\n  %s\n\n", address)
					if noBrowser {
						return
					}
					if err := a.Browse(address); err != nil {
						fmt.Fprintf(a.Err, "No browser could be opened (%v): open the address yourself, on this machine.\n", err)
					}
				})
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.Out, "You are logged in to %s. The login is kept %s.\n", oneLine(args[0], 60), kept.where(ctx, args[0]))
				return err
			})
		}),
	}
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "only print the address")
	return cmd
}

func (a *app) mcpServersLogout() *cobra.Command {
	return &cobra.Command{
		Use:               "logout SERVER",
		Short:             "Take the login to a server back, and forget it",
		Long:              `Take the login to a server back, where its authorization server offers that, and forget it.`,
		Example:           "  dragoman mcp-servers logout tracker",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeServers(nil),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			ctx, stop := program.UntilSignal(ctx, true)
			defer stop()
			return a.withServers(func(box *bridge.Box, kept serverLogins) error {
				had, err := kept.read(args[0])
				if err == nil && had == nil {
					_, err = fmt.Fprintf(a.Out, "No login to %s is kept.\n", oneLine(args[0], 60))
					return err
				}
				if err := box.Logout(ctx, args[0]); err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.Out, "The login to %s is forgotten.\n", oneLine(args[0], 60))
				return err
			})
		}),
	}
}

// withServers lets f look after the logins to the servers of the configuration.
func (a *app) withServers(f func(*bridge.Box, serverLogins) error) error {
	config, err := a.LoadConfig(nil)
	if err != nil {
		return err
	}
	a.patient()
	kept, ok := a.serverLogins().(serverLogins)
	if !ok {
		_, err := a.DataDir()
		return err
	}
	box := bridge.New(bridge.Options{Servers: serversOf(config, nil, a.Lookup, newKeyPrograms().run), Environ: a.Environ(), Version: a.Version, Tokens: kept})
	defer box.Close()
	return f(box, kept)
}

// openBrowser opens an address that was checked, without a shell. What is started
// stays when we end.
func openBrowser(address string) error {
	words := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if words == nil {
		words = []string{"xdg-open"}
	}
	cmd := exec.Command(words[0], append(words[1:], address)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() //nolint:errcheck // it ends when the browser does, or we do
	return nil
}
