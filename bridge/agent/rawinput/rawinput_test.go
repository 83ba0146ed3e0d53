package rawinput_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/bridge/agent/rawinput"
	"dragoman/core"
)

// found describes what an input says.
func found(raw string) string {
	in := rawinput.Of(json.RawMessage(raw))
	var parts []string
	add := func(what string, list []string) {
		if len(list) > 0 {
			parts = append(parts, what+" "+strings.Join(list, ", "))
		}
	}
	add("runs", in.Commands)
	add("in", in.Folders())
	add("touches", in.Files(core.KindOther))
	add("reaches", in.Reaches(false))
	add("fetches", in.Addresses(false))
	if in.Hidden {
		parts = append(parts, "hides more")
	}
	return strings.Join(parts, "; ")
}

func TestOf(t *testing.T) {
	for raw, want := range map[string]string{
		``:                                      "",
		`{}`:                                    "",
		`null`:                                  "",
		`"rm -rf /"`:                            "hides more",
		`["rm"]`:                                "hides more",
		`{"command":"ls","description":"/etc"}`: "runs ls",
		`{"command":["bash","-lc","ls -l"]}`:    "runs ls -l",
		`{"command":["ls","a b"]}`:              "runs ls 'a b'",
		`{"COMMAND":"ls"}`:                      "",
		`{"input":[{"cmd":"ls"},{"cmd":"ls"},{"script":"x"}]}`:                     "runs ls, x",
		`{"command":"make","args":["-f","x"],"cwd":"/w"}`:                          "runs make -f x; in /w",
		`{"command":"ls","env":{"LC_ALL":"C","X":"1"}}`:                            "runs export X=1; ls",
		`{"cmd":"ls","parsed_cmd":[{"cmd":"rm","path":"/etc/passwd"}]}`:            "runs ls",
		`{"paths":["a",{"path":"b"},["c"]]}`:                                       "touches b, a, c",
		`{"changes":{"/tmp/a":{"update":{"move_path":"/tmp/b"}}}}`:                 "touches /tmp/b, /tmp/a; reaches /tmp/b",
		`{"old_string":"/etc/passwd","content":"/etc/shadow"}`:                     "",
		`{"pattern":"/etc/*"}`:                                                     "reaches /etc/*",
		`{"pattern":"/no-such-folder/.*"}`:                                         "",
		`{"what":"../x"}`:                                                          "reaches ../x",
		`{"url":"https://a.example/"}`:                                             "fetches https://a.example/",
		strings.Repeat(`{"a":`, 12) + `{"command":"ls"}` + strings.Repeat(`}`, 12): "hides more",
	} {
		if got := found(raw); got != want {
			t.Errorf("%s:\n%s, want\n%s", raw, got, want)
		}
	}
}

func TestOnServer(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"server":"s","tool":"t","arguments":{"command":"ls"}}`: true,
		`{"server":"s","tool":"t","command":"ls"}`:               false,
		`{"server":"native","tool":"t"}`:                         false,
		`{"tool":"t"}`:                                           false,
	} {
		if _, _, ok := rawinput.Of(json.RawMessage(raw)).OnServer(); ok != want {
			t.Errorf("%s: %v", raw, ok)
		}
	}
}

func TestSpelled(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	for path, want := range map[string]string{
		"a/b": "a/b", " /a ": "/a", "file:///a%20b": "/a b", "FILE:/a": "/a", "~": "/home/me", "~/x": "/home/me/x",
		"~other/x": "-", "$HOME/x": "-", "file:///%zz": "-", "file://host/a": "-", "x://a": "-", "": "-",
	} {
		got, ok := rawinput.Spelled(path)
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// The time for an input grows with its size and not faster: it is read on the goroutine on which the
// agent's messages arrive.
func BenchmarkOf(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		raw := json.RawMessage(`{"x":["` + strings.Join(slices.Repeat([]string{"/etc/a"}, n), `","`) + `"]}`)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				rawinput.Of(raw).Reaches(false)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/text")
		})
	}
}

func FuzzOf(f *testing.F) {
	f.Add(`{"command":["a",["b"]],"env":{"A":"b"},"changes":{"a":[]},"paths":[{}]}`)
	f.Fuzz(func(_ *testing.T, raw string) {
		if json.Valid([]byte(raw)) { // it is a member of a message that was parsed
			found(raw)
		}
	})
}
