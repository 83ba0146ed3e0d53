// Package programtest gives a test a home, a workspace and an environment of its own.
package programtest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Place is the environment of one test's processes: an empty home, a workspace with notes, and no
// keys.
type Place struct {
	Home, Work, Data string
	Env              map[string]string
}

// NewPlace returns a place that is removed after the test.
func NewPlace(t testing.TB) *Place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &Place{
		Home: filepath.Join(dir, "home"),
		Work: filepath.Join(dir, "work"),
		Data: filepath.Join(dir, "data"),
	}
	for _, d := range []string{p.Home, p.Work} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	Write(t, filepath.Join(p.Work, "notes.txt"), "first note\nsecond note\n")
	p.Env = map[string]string{
		"HOME": p.Home, "USERPROFILE": p.Home, "XDG_CONFIG_HOME": filepath.Join(p.Home, "config"), "DRAGOMAN_DATA": p.Data,
		"PATH": os.Getenv("PATH"), "TMPDIR": dir, "TMP": dir, "DRAGOMAN_KEYRING": "off",
	}
	if root := os.Getenv("SystemRoot"); root != "" {
		p.Env["SystemRoot"] = root
	}
	return p
}

// Write writes a file, and creates its folder.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Config writes the user's configuration and returns its path.
func (p *Place) Config(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(p.Env["XDG_CONFIG_HOME"], "dragoman", "config.yaml")
	Write(t, path, text)
	return path
}

// Lookup is the configs.Env of the place.
func (p *Place) Lookup(name string) (string, bool) {
	v, ok := p.Env[name]
	return v, ok
}

// UnixOnly skips a test on systems that have no such signals, permissions or scripts.
func UnixOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such signals and permissions")
	}
}
