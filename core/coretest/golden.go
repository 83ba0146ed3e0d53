package coretest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/tools/txtar"
)

// Golden runs play with each archive that pattern finds, as a test of the file's
// name. play makes of the archive what it is to hold: where that is not what the file
// holds the test fails, or, with update, the file is written anew.
func Golden(t *testing.T, pattern string, update bool, play func(t *testing.T, name string, ar *txtar.Archive)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files match %s: %v", pattern, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ar := txtar.Parse(bytes.Clone(want)) // play may change it in place
			play(t, name, ar)
			got := txtar.Format(ar)
			switch {
			case bytes.Equal(got, want):
			case update:
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("%s is not what it is to hold:\n%s", file, udiff.Unified("want", "got", string(want), string(got)))
			}
		})
	}
}
