package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Capability is something that not every agent can do.
type Capability string

const (
	CanRewind    Capability = "rewind"    // forget the messages after a point
	CanFork      Capability = "fork"      // continue in a copy of the conversation
	CanCompact   Capability = "compact"   // replace the conversation by a summary of ours
	CanImages    Capability = "images"    // take images in prompts
	CanAudio     Capability = "audio"     // take audio in prompts
	CanResources Capability = "resources" // take embedded resources in prompts
)

// UnsupportedError refuses a request that an agent does not support. Adapters word it for their clients.
type UnsupportedError struct {
	Agent string
	What  Capability
}

func (e *UnsupportedError) Error() string {
	return "agent " + e.Agent + map[Capability]string{
		CanRewind:    " keeps its own history and cannot forget a part of it",
		CanFork:      " keeps its own history and cannot be forked",
		CanCompact:   " keeps its own history and summarizes it itself",
		CanImages:    " takes no images",
		CanAudio:     " takes no audio",
		CanResources: " takes no embedded resources",
	}[e.What]
}

// can reports whether a back end has a capability. One that works from our log can rewind and
// fork without doing anything.
func (c BackendCaps) can(what Capability) bool {
	return map[Capability]bool{
		CanRewind: c.Rewind || !c.OwnsHistory, CanFork: c.Fork || !c.OwnsHistory, CanCompact: !c.OwnsHistory,
		CanImages: c.Images, CanAudio: c.Audio, CanResources: c.Resources,
	}[what]
}

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

// takes reports whether a turn that runs takes something that is said to it.
func (c BackendCaps) takes(blocks []Block) bool {
	return c.Steer && !slices.ContainsFunc(needsOf(blocks), func(what Capability) bool { return !c.can(what) })
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
	for _, what := range needs {
		if !caps.can(what) {
			return &UnsupportedError{b.name, what}
		}
	}
	return nil
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
	return caps != nil && caps.can(what)
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
