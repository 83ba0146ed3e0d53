package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"dragoman/cmd/internal/download"
	"dragoman/core/datadir"
	"dragoman/core/display"
)

// Address is that of the registry that all clients of ACP share.
const Address = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json"

// fetchFor limits the time for fetching a registry.
const fetchFor = 20 * time.Second

// Source is a place with a registry.
type Source struct {
	// From is a file or an address that the user names; empty: Address.
	From string
	// Kept is the file that keeps the last registry of Address; empty: none does.
	Kept string
	// Address replaces Address, in tests.
	Address string
}

// Anywhere reports whether agents may be downloaded from any address: where the user names the source.
func (s Source) Anywhere() bool { return s.From != "" }

// Load reads the registry.
func (s Source) Load(ctx context.Context) (*Registry, error) {
	if s.From != "" && !strings.Contains(s.From, "://") {
		data, _, err := datadir.Read(s.From, maxRegistry)
		if err != nil {
			return nil, fmt.Errorf("read the registry %s: %w", s.From, err)
		}
		return s.parsed(data, s.From)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, fetchFor, fmt.Errorf("there was no answer within %v", fetchFor))
	defer cancel()
	from := s.From
	if from == "" {
		from = s.Address
	}
	if from == "" {
		from = Address
	}
	data, err := download.Fetcher{Anywhere: s.Anywhere()}.Get(ctx, from, maxRegistry)
	var r *Registry
	if err == nil {
		r, err = s.parsed(data, from)
	}
	if s.From != "" {
		return r, err
	}
	if err == nil {
		if s.Kept != "" {
			_ = datadir.Replace(s.Kept, data) // it is of use only later
		}
		return r, nil
	}
	return s.older(err)
}

func (s Source) parsed(data []byte, from string) (*Registry, error) {
	r, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("the registry %s cannot be read: %w", display.Line(from, 200), err)
	}
	r.Source = from
	return r, nil
}

// older returns the registry that was fetched last, and says so.
func (s Source) older(err error) (*Registry, error) {
	missing := fmt.Errorf("the registry of agents is not reached: %w\nwith a copy of it: --registry FILE", err)
	if s.Kept == "" {
		return nil, missing
	}
	data, info, unread := datadir.Read(s.Kept, maxRegistry)
	switch {
	case errors.Is(unread, fs.ErrNotExist):
		return nil, missing
	case unread != nil:
		return nil, errors.Join(missing, unread)
	}
	r, unread := s.parsed(data, s.Kept)
	if unread != nil {
		return nil, errors.Join(missing, unread)
	}
	r.Old = fmt.Sprintf("%v; this is the registry of %s", err, info.ModTime().Format(time.DateTime))
	return r, nil
}
