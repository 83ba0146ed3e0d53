package coretest

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"dragoman/core"
)

// spilled returns the content of a reference in a session; false: there is no such
// file.
func (t *storeTest) spilled(j core.Journal, ref string) (string, bool) {
	t.Helper()
	f, err := j.Spilled(ref)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	if err != nil {
		t.Fatalf("Spilled(%.100q): %v", ref, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err != nil || info.Size() != int64(len(b)) {
		t.Fatalf("Spilled(%.100q): %d bytes of %d, %v", ref, len(b), info.Size(), err)
	}
	return string(b), true
}

func (t *storeTest) spillInto(j core.Journal, name, text string) (ref string) {
	t.Helper()
	w, ref, err := j.Spill(name)
	if err != nil {
		t.Fatalf("Spill(%q): %v", name, err)
	}
	for part := range strings.Lines(text) {
		if _, err := io.WriteString(w, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return ref
}

// Output that was cut can be read in its session, from any process, until it or its
// session is removed. No other session can read it.
func (t *storeTest) spill() {
	a, b := t.store(), t.store()
	j := t.create(a, "s1")
	text := strings.Repeat(Awkward+"\n", 1000)
	ref := t.spillInto(j, "output-1.txt", text)
	if ref != "spill:output-1.txt" {
		t.Errorf("the reference is %q", ref)
	}
	if _, _, err := j.Spill("output-1.txt"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Spill of a name that is taken: %v, want ErrExist", err)
	}
	for what, k := range map[string]core.Journal{"here": j, "elsewhere": t.open(b, "s1")} {
		if got, ok := t.spilled(k, ref); !ok || got != text {
			t.Errorf("%s: %d bytes, %v; want %d", what, len(got), ok, len(text))
		}
	}
	if _, ok := t.spilled(t.create(a, "s2"), ref); ok {
		t.Error("another session has it")
	}
	other := t.spillInto(j, "other", "x")
	if err := j.Unspill(other); err != nil {
		t.Error(err)
	}
	if _, ok := t.spilled(j, other); ok {
		t.Error("what was removed can be read")
	}
	if err := errors.Join(j.Close(), a.Delete(t.Context(), core.Local, "s1")); err != nil {
		t.Fatal(err)
	}
	if _, ok := t.spilled(t.create(b, "s1"), ref); ok {
		t.Error("a session that was made again has it")
	}
}

// No name leads out of the session, or to anything but the files that Spill has made.
func (t *storeTest) spillNames() {
	s := t.store()
	j := t.create(s, "s1")
	t.spillInto(j, "kept", "kept")
	for _, name := range []string{
		"", ".", "..", "../kept", "a/b", "/kept", `a\b`, `..\kept`,
		"a:b", "kept\x00", " kept", "ké", ".hidden", "-\n", strings.Repeat("x", 101),
	} {
		if _, _, err := j.Spill(name); err == nil {
			t.Errorf("Spill(%q) makes a file", name)
		} else if len(err.Error()) > 1000 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
		if got, ok := t.spilled(j, core.SpillRef+name); ok {
			t.Errorf("Spilled(spill:%q) reads %q", name, got)
		}
		if err := j.Unspill(core.SpillRef + name); err == nil {
			t.Errorf("Unspill(spill:%q) removes something", name)
		}
	}
	for _, ref := range []string{"", "kept", "/etc/passwd", "SPILL:kept", "spill:spill:kept"} {
		if got, ok := t.spilled(j, ref); ok {
			t.Errorf("Spilled(%q) reads %q", ref, got)
		}
	}
	if got, ok := t.spilled(j, "spill:kept"); !ok || got != "kept" {
		t.Errorf("what was there is %q, %v", got, ok)
	}
}
