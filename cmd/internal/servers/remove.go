package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/logs"
	"dragoman/configs"
)

// Remove removes a server from the configuration, revokes its login, and removes the data about
// it.
func (s *Store) Remove(ctx context.Context, name string) error {
	before, _ := s.env.LoadConfig(nil) // this may correct an invalid one
	path, err := s.Edit(ctx, configs.DropServer(name))
	if err != nil {
		return err
	}
	fmt.Fprintf(s.env.Out, "removed the MCP server %s from %s\n", name, path)
	if err := s.takeLoginBack(ctx, before, name); err != nil {
		s.warn("the login is removed here, but could not be revoked: %v", err)
	}
	return s.Forget(name)
}

// Disable disables servers, or enables them again.
func (s *Store) Disable(ctx context.Context, disabled bool, names ...string) error {
	var edits []configs.Edit
	for _, name := range names {
		edits = append(edits, configs.DisableServer(name, disabled))
	}
	path, err := s.Edit(ctx, edits...)
	if err != nil {
		return err
	}
	done := map[bool]string{true: "disabled", false: "enabled"}[disabled]
	fmt.Fprintf(s.env.Out, "%s %s in %s\n", done, strings.Join(names, ", "), path)
	return nil
}

// takeBackFor limits the time for revoking the login of a removed server.
const takeBackFor = 10 * time.Second

// takeLoginBack revokes the login at the authorization server of a server.
func (s *Store) takeLoginBack(ctx context.Context, c *configs.Config, server string) error {
	kept, ok := s.secrets.ServerLogins()
	if !ok {
		return nil
	}
	if had, err := kept.Has(server); err != nil || !had {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, takeBackFor, errors.New("there was no answer in time"))
	defer cancel()
	box := upstream.New(s.options(c, false))
	defer box.Close()
	return box.Logout(ctx, server)
}

// Forget removes the data about a server.
func (s *Store) Forget(name string) error {
	var err error
	if data, none := s.env.DataDir(); none == nil { // otherwise there is no data
		err = logs.RemoveServer(data, name)
	}
	if kept, ok := s.secrets.ServerLogins(); ok {
		err = errors.Join(err, kept.Forget(name))
	}
	if file := s.PinFile(); file != "" {
		err = errors.Join(err, upstream.Forget(file, name))
	}
	return err
}
