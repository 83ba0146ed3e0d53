package core

import (
	"context"
	"errors"
	"fmt"

	"dragoman/core/internal/capability"
)

// Capability is something that not every agent can do.
type Capability = capability.Name

const (
	CanRewind    = capability.Rewind    // forget the messages after a point
	CanFork      = capability.Fork      // continue in a copy of the conversation
	CanCompact   = capability.Compact   // replace the conversation by a summary of ours
	CanImages    = capability.Images    // take images in prompts
	CanAudio     = capability.Audio     // take audio in prompts
	CanResources = capability.Resources // take embedded resources in prompts
)

// UnsupportedError refuses a request that an agent does not support: its Agent lacks What. Adapters
// word it for their clients.
type UnsupportedError = capability.Unsupported

// needsOf lists the capabilities that a prompt needs.
func needsOf(blocks []Block) (list []Capability) {
	for _, b := range blocks {
		switch b.(type) {
		case Image:
			list = append(list, CanImages)
		case Audio:
			list = append(list, CanAudio)
		case Resource:
			list = append(list, CanResources)
		case Text, Link, Diff, Terminal:
		}
	}
	return list
}

// can returns an *UnsupportedError for the first capability that an agent lacks.
func (g *Gateway) can(ctx context.Context, a Agent, needs ...Capability) error {
	l, err := g.backends.lend(a)
	if err != nil {
		return err
	}
	defer g.backends.GiveBack(l)
	return l.Value.can(ctx, needs...)
}

// can is Gateway.can of a back end that is in use.
func (b *openBackend) can(ctx context.Context, needs ...Capability) error {
	caps, err := b.ask(ctx)
	if err != nil {
		return err
	}
	return capability.Check(b.name, caps, needs)
}

// ask is Backend.Caps. What it answers is remembered.
func (b *openBackend) ask(ctx context.Context) (BackendCaps, error) {
	caps, err := b.Caps(ctx)
	if err != nil {
		return caps, fmt.Errorf("agent %s: %w", b.name, err)
	}
	b.known.Store(&caps)
	return caps, nil
}

// Known reports whether an agent is known to have a capability. It starts nothing and does not block.
func (g *Gateway) Known(a Agent, what Capability) bool {
	caps := g.backends.known(a)
	return caps != nil && capability.Has(*caps, what)
}

// able is can for the agent that a session would use with these settings. If the configuration
// has no such agent, nothing is refused: the session's next turn reports it.
func (g *Gateway) able(ctx context.Context, of Profiles, roots []string, set Settings, needs ...Capability) error {
	for again := false; ; again = true {
		prof, err := g.Profile(ctx, of, roots)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		a, ok := prof.Agent(set.Agent)
		if !ok {
			return nil
		}
		if err := g.can(ctx, a, needs...); again || !errors.Is(err, errRetired) {
			return err
		}
	}
}
