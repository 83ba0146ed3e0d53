package coretest_test

import (
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

func TestMemory(t *testing.T) {
	coretest.Store(t, func(*testing.T) func() core.Store {
		m := coretest.NewMemory()
		return func() core.Store { return m }
	})
}
