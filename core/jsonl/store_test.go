package jsonl_test

import (
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

func TestStore(t *testing.T) {
	coretest.Store(t, func(t *testing.T) func() core.Store {
		dir := t.TempDir()
		return func() core.Store { return jsonl.New(dir) }
	})
}
