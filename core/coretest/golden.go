package coretest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/tools/txtar"

	"dragoman/core/inference"
)

// Golden runs play with each archive that matches pattern, as a test with the file's
// name. play changes the archive to its expected content: if the file differs the test
// fails, or, with update, the file is rewritten.
func Golden(
	t *testing.T,
	pattern string,
	update bool,
	play func(t *testing.T, name string, ar *txtar.Archive),
) {
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
				t.Errorf(
					"%s is not what it is to hold:\n%s",
					file,
					udiff.Unified("want", "got", string(want), string(got)),
				)
			}
		})
	}
}

// GoldenFile fails the test if a file's content is not got. With update, it rewrites
// the file.
func GoldenFile(t *testing.T, file, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	if string(want) != got {
		t.Errorf("%s is not what it is to hold:\n%s", file, udiff.Unified("want", "got", string(want), got))
	}
}

// Section returns a file of an archive; empty if there is none with that name.
func Section(ar *txtar.Archive, name string) string {
	for _, f := range ar.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// SetSection replaces a file of an archive, or adds it.
func SetSection(ar *txtar.Archive, name, data string) {
	for i := range ar.Files {
		if ar.Files[i].Name == name {
			ar.Files[i].Data = []byte(data)
			return
		}
	}
	ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(data)})
}

// WriteDelta writes a line for a delta of a model, in the format of golden files.
func WriteDelta(b *strings.Builder, d inference.Delta) {
	switch d.Kind {
	case inference.DeltaText, inference.DeltaThought, inference.DeltaToolArgs:
		fmt.Fprintf(b, "%d %s %q\n", d.Block, d.Kind, d.Text)
	case inference.DeltaToolStart:
		fmt.Fprintf(b, "%d %s %s %s\n", d.Block, d.Kind, d.ToolID, d.ToolName)
	case inference.DeltaToolEnd:
		fmt.Fprintf(b, "%d %s %s\n", d.Block, d.Kind, d.Args)
	case inference.DeltaUsage:
		fmt.Fprintf(b, "usage in=%d out=%d estimated=%v\n", d.Usage.In, d.Usage.Out, d.Usage.Estimated)
	case inference.DeltaStop:
		fmt.Fprintf(b, "stop %s\n", d.Stop)
	case inference.DeltaSealed, inference.DeltaRetry, inference.DeltaFellBack, inference.DeltaRefused:
		fmt.Fprintf(b, "unexpected %+v\n", d)
	}
}
