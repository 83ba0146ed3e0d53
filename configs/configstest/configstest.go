// Package configstest makes configurations for tests of other packages.
package configstest

import (
	"testing"

	"dragoman/configs"
)

// Parsed returns the configuration that a file config.yaml with this text gives. A text that is
// not valid fails the test.
func Parsed(t testing.TB, text string) *configs.Config {
	t.Helper()
	layer, err := configs.Parse("config.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := configs.Resolve(layer, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
