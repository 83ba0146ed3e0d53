package coretest_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"dragoman/core/coretest"
)

// With update a golden file is rewritten with the expected content; a file that
// already has it is not touched.
func TestGoldenUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.txtar")
	if err := os.WriteFile(path, []byte("about\n-- in --\na\n-- out --\nwrong\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, update := range []bool{true, false} {
		coretest.Golden(t, path, update, func(t *testing.T, name string, ar *txtar.Archive) {
			if name != "one" || len(ar.Files) != 2 {
				t.Errorf("%s has %d sections", name, len(ar.Files))
			}
			ar.Files[1].Data = append(ar.Files[1].Data[:0], "right\n"...)
		})
		got, err := os.ReadFile(path)
		if want := "about\n-- in --\na\n-- out --\nright\n"; err != nil || string(got) != want {
			t.Errorf("holds %q, %v", got, err)
		}
	}
}
