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

// Remove takes a server out of the configuration, its login back, and forgets what was kept of it.
func (s *Store) Remove(ctx context.Context, name string) error {
	before, _ := s.env.LoadConfig(nil) // one that is wrong may be mended by this
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

// Disable takes servers out of use, or has them used again.
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

// takeBackFor is how long a server that is removed may take to take its login back.
const takeBackFor = 10 * time.Second

// takeLoginBack tells the authorization server of a server that its login is over.
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

// Forget removes what was kept of a server.
func (s *Store) Forget(name string) error {
	var err error
	if data, none := s.env.DataDir(); none == nil { // else nothing is kept anywhere
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
