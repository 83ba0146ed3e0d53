package servers

import (
	"context"
	"fmt"

	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/secrets"
	"dragoman/cmd/internal/terminal"
	"dragoman/core/display"
)

// Login logs in to a server in the browser. browse opens it; the address is printed in any case.
func (s *Store) Login(ctx context.Context, server string, browse bool) error {
	box, kept, err := s.box()
	if err != nil {
		return err
	}
	defer box.Close()
	err = box.Login(ctx, server, func(address string) {
		fmt.Fprintf(s.env.Err, "Log in in the browser, at:\n\n  %s\n\n", address)
		if !browse {
			return
		}
		if err := s.env.Browse(address); err != nil {
			fmt.Fprintf(
				s.env.Err,
				"No browser could be opened (%v): open the address yourself, on this machine.\n",
				err,
			)
		}
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(
		s.env.Out,
		"You are logged in to %s. The login is stored %s.\n",
		display.Line(server, 60),
		kept.Where(ctx, server),
	)
	return err
}

// Logout revokes the login to a server, and removes it.
func (s *Store) Logout(ctx context.Context, server string) error {
	box, kept, err := s.box()
	if err != nil {
		return err
	}
	defer box.Close()
	had, err := kept.Has(server)
	if err == nil && !had {
		_, err = fmt.Fprintf(s.env.Out, "There is no stored login to %s.\n", display.Line(server, 60))
		return err
	}
	if err := box.Logout(ctx, server); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.env.Out, "The login to %s is removed.\n", display.Line(server, 60))
	return err
}

// box returns a box with the servers of the configuration, for managing the logins to them. The
// keyring may wait for a person at the terminal.
func (s *Store) box() (*upstream.Box, secrets.ServerLogins, error) {
	config, err := s.env.LoadConfig(nil)
	if err != nil {
		return nil, secrets.ServerLogins{}, err
	}
	if terminal.Is(s.env.In) {
		s.secrets.Patient()
	}
	kept, ok := s.secrets.ServerLogins()
	if !ok {
		_, err := s.env.DataDir()
		return nil, kept, err
	}
	return upstream.New(s.options(config, false)), kept, nil
}
