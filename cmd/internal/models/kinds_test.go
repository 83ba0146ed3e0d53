package models

import (
	"slices"
	"testing"

	"dragoman/configs"
	"dragoman/core/llm"
)

// Models can be made of every kind of provider in the configuration, and each known provider has
// such a kind.
func TestKindsOfProviders(t *testing.T) {
	want := slices.Sorted(slices.Values(configs.Kinds()))
	if got := slices.Sorted(slices.Values(llm.Kinds())); !slices.Equal(got, want) {
		t.Errorf("models are made of the kinds\n%q, the configuration takes\n%q", got, want)
	}
	for _, known := range configs.KnownProviders() {
		if !slices.Contains(want, known.Kind) {
			t.Errorf("%s is of the kind %q", known.Name, known.Kind)
		}
	}
}
