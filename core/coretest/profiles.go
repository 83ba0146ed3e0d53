package coretest

import (
	"context"

	"dragoman/core"
)

// Profiles returns profiles made by a function, each time one is needed. Their Before
// does nothing.
func Profiles(profile func(ctx context.Context, roots []string) (*core.Profile, error)) *ProfileFunc {
	return &ProfileFunc{Make: profile}
}

// ProfileFunc implements core.Profiles by functions.
type ProfileFunc struct {
	Make  func(ctx context.Context, roots []string) (*core.Profile, error)
	Judge func(ctx context.Context, roots []string) (*core.Profile, error) // nil: Make
}

// Profile implements core.Profiles.
func (p *ProfileFunc) Profile(ctx context.Context, roots []string) (*core.Profile, error) {
	return p.Make(ctx, roots)
}

// Rules implements core.Profiles.
func (p *ProfileFunc) Rules(ctx context.Context, roots []string) (*core.Profile, error) {
	if p.Judge != nil {
		return p.Judge(ctx, roots)
	}
	return p.Make(ctx, roots)
}

// Before implements core.Profiles.
func (p *ProfileFunc) Before(context.Context, core.Meta, core.Host) {}
