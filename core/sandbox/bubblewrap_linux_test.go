package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/core/child"
)

// without returns a system to which namespaces are refused, with a bubblewrap that is a script.
func without(t *testing.T, script string) *System {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bwrap")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	s := New()
	s.full.tried, s.full.err = true, errors.New("refused here")
	s.bubblewraps = []string{filepath.Join(t.TempDir(), "missing"), path}
	return s
}

// A bubblewrap that does not work is not used: neither one that says why, nor one that says nothing and
// seems to have worked.
func TestBubblewrapThatFails(t *testing.T) {
	for script, want := range map[string]string{
		"echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1": "refused here; bubblewrap: it has ended: bwrap: setting up uid map: Permission denied",
		"exit 0": "refused here; bubblewrap: it has ended",
	} {
		s := without(t, script)
		if level, why := s.Level(child.Full); level != child.Files || why != want || s.Through() != "" {
			t.Errorf("%s: level %s, %q, want %q; through %q", script, level, why, want, s.Through())
		}
	}
	s := without(t, "")
	s.bubblewraps = s.bubblewraps[:1]
	if level, why := s.Level(child.Full); level != child.Files || why != "refused here" {
		t.Errorf("none is installed: level %s, %s", level, why)
	}
}

// The arguments of bubblewrap show what a profile shows, in an order in which nothing covers what it must
// not, and make no mount point that would stay behind.
func TestBubblewrapArguments(t *testing.T) {
	home := resolve(t.TempDir())
	at := func(names ...string) string { return filepath.Join(append([]string{home}, names...)...) }
	for _, dir := range []string{"project/.git", "keys/inner", "cache", "store/upper", "store/work", "tmp"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"keys/inner/id", "project/.env", "project/.git/config"} {
		if err := os.WriteFile(at(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := Profile{
		Write: []string{at("project"), at("missing")}, ReadOnly: []string{at("project/.git/config"), at("project/.envrc")}, Show: []string{home},
		Hidden: []string{at("keys"), at("keys/inner/id"), at("project/.env"), "/tmp/not-shown"}, Tmp: at("tmp"),
		Layers: []Layer{{At: at("cache"), Lower: at("cache"), Store: at("store")}},
	}
	if err := os.WriteFile("/tmp/not-shown", nil, 0o600); err == nil {
		defer os.Remove("/tmp/not-shown")
	}
	w := wrapping{profile: p, layers: true}
	w.arrange()
	said := " " + strings.Join(w.args, " ") + " "
	last := -1
	for _, want := range []string{
		"--unshare-user --unshare-pid --unshare-ipc --as-pid-1 --new-session --cap-drop ALL", "--unshare-net", "--ro-bind / /", "--tmpfs /run", "--dev /dev", "--proc /proc",
		"--bind " + at("tmp") + " /tmp", "--ro-bind " + home + " " + home,
		"--overlay-src " + at("cache") + " --overlay " + at("store/upper") + " " + at("store/work") + " " + at("cache"),
		"--bind " + at("project") + " " + at("project"), "--tmpfs " + at("keys") + " --remount-ro " + at("keys"), " " + at("project/.env") + " ",
		"--ro-bind " + at("project/.git/config") + " " + at("project/.git/config"),
	} {
		i := strings.Index(said, want)
		if i <= last {
			t.Errorf("%s: at %d, after %d in %s", want, i, last, said)
		}
		last = max(last, i)
	}
	for _, name := range []string{at("missing"), at("project/.envrc"), at("keys/inner/id"), "/tmp/not-shown"} {
		if slices.Contains(w.args, name) {
			t.Errorf("%s is among them: %s", name, said)
		}
	}
	w = wrapping{profile: Profile{Open: true, Layers: p.Layers}}
	w.arrange()
	if said := strings.Join(w.args, " "); strings.Contains(said, "--unshare-net") || strings.Contains(said, "--overlay") || !strings.Contains(said, "--bind "+at("store/upper")+" "+at("cache")) {
		t.Errorf("with the network, without layers: %s", said)
	}
}
