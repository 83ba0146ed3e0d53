package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

// The demo plays all three protocols, in an environment full of keys that it must not use, and
// leaves nothing behind.
func TestDemo(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	temp := filepath.Join(p.home, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	p.env["TMPDIR"], p.env["OPENAI_API_KEY"], p.env["DRAGOMAN_DATA"] = temp, "very-secret-key", p.data
	p.config(t, "modle: the demo reads no configuration\n")
	out := p.well(t, "", "demo")
	for line := range strings.Lines(out) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 100 && !strings.Contains(line, binary) {
			t.Errorf("%d wide: %s", n, line)
		}
	}
	out = regexp.MustCompile(`answered in [\d.]+m?s *`).ReplaceAllString(out, "answered in TIME ")
	out = regexp.MustCompile(`in [\d.]+m?s;`).ReplaceAllString(out, "in TIME;")
	p.golden(t, "demo.txt", out)
	for _, dir := range []string{temp, p.work} {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != "notes.txt" {
			t.Errorf("left behind in %s: %v, %v", dir, entries, err)
		}
	}
	if _, err := os.Stat(p.data); err == nil {
		t.Error("the demo has used the folder of real sessions")
	}
}

func TestDemoReportsFailures(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.env["TMPDIR"] = filepath.Join(p.home, "none")
	if o := p.run(t, "", "demo"); o.code != program.ExitFailed || !strings.Contains(o.errs, "make a folder for the demo") {
		t.Errorf("%+v", o)
	}
}
