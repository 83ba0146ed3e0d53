package secrets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"dragoman/core/datadir"
)

// serverLoginDir contains the logins to MCP servers. It is in the data folder and has a file for
// each server, so that the renewal of one token delays no other.
const serverLoginDir = "mcp-logins"

// ServerLogins stores the logins to MCP servers. Only the bridge knows their content.
type ServerLogins struct {
	dir   string
	vault *vault
}

// keptServer is the file of a server: the bridge's data, encrypted or plain.
type keptServer struct {
	Version int    `json:"version"`
	Server  string `json:"server"` // for people
	Sealed  string `json:"sealed,omitempty"`
	Login   []byte `json:"login,omitempty"`
}

// path returns a server's file. Its name is a checksum, so that no server can choose it.
func (s ServerLogins) path(server string) string {
	sum := sha256.Sum256([]byte(server))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

// read returns the stored file; nil: there is none.
func (s ServerLogins) read(server string) (*keptServer, error) {
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

// Has reports whether a login to a server is stored.
func (s ServerLogins) Has(server string) (bool, error) {
	kept, err := s.read(server)
	return kept != nil, err
}

// Load returns the stored login to a server; nil: there is none.
func (s ServerLogins) Load(ctx context.Context, server string) ([]byte, error) {
	kept, err := s.read(server)
	switch {
	case err != nil || kept == nil:
		return nil, err
	case kept.Sealed != "":
		return s.vault.open(ctx, "mcp server "+server, kept.Sealed)
	}
	return kept.Login, nil
}

// Change replaces the stored login to a server by the result of change; nil removes it. Other
// processes that change it wait.
func (s ServerLogins) Change(ctx context.Context, server string, change func([]byte) ([]byte, error)) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	held, err := datadir.WaitLock(ctx, s.path(server)+".lock")
	if err != nil {
		return err
	}
	defer held.Unlock() //nolint:errcheck // it is unlocked in any case
	old, fault := s.Load(ctx, server)
	next, err := change(old) // an unreadable login is replaced
	if err != nil {
		return errors.Join(err, fault)
	}
	switch {
	case next == nil:
		return datadir.Remove(s.path(server))
	case fault == nil && string(next) == string(old):
		return nil
	}
	kept := keptServer{Version: 1, Server: server, Login: next}
	if sealed, err := s.vault.seal(ctx, "mcp server "+server, next); err == nil {
		kept.Login, kept.Sealed = nil, sealed
	} // otherwise it is stored plain; Where reports that
	data, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return datadir.Replace(s.path(server), append(data, '\n'))
}

// Forget removes the stored login to a server, if there is one.
func (s ServerLogins) Forget(server string) error {
	return errors.Join(datadir.Remove(s.path(server)), datadir.Remove(s.path(server)+".lock"))
}

// Where describes how the login to a server is stored; "": there is none.
func (s ServerLogins) Where(ctx context.Context, server string) string {
	kept, err := s.read(server)
	if err != nil || kept == nil {
		return ""
	}
	return s.vault.where(ctx, s.path(server), kept.Sealed)
}
