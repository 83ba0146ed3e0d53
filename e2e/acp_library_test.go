package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ignored matches the errors that the libraries of 2025 log for updates and a notification that they do not know yet. They
// continue after them.
var ignored = regexp.MustCompile(`^Error handling notification .*("sessionUpdate":"(session_info_update|config_option_update)"|"method":"\$/cancel_request")`)

// Fourteen versions of ACP's TypeScript library, from August 2025 on, do all that they can do; every third of them, but
// for DRAGOMAN_HOSTS=all.
func TestACPLibraries(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob(filepath.Join(needPrograms(t, "hosts/libraries"), "acp-*"))
	if err != nil || len(found) != 14 {
		t.Fatalf("the libraries are %q, %v", found, err)
	}
	for i, dir := range found {
		if i%3 != 0 && i != len(found)-1 && !everyHost() {
			continue
		}
		version := strings.TrimPrefix(filepath.Base(dir), "acp-")
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			s := p.drive(t, "acp_library.mjs", "--library", dir, "--", "acp")
			s.stops(turnsOfLibraries)
			if end := s.step("stop", "cancel"); get[string](end, "stopReason") != "cancelled" {
				t.Errorf("cancelled while a permission is open: %s", end.raw)
			}
			if n := len(s.all("asked")); n != 3 {
				t.Errorf("%d permissions were asked, want 3:\n%s", n, s.tail())
			}
			s.replays(version == "0.1.2")
			for _, complaint := range s.all("complaint") {
				if text := get[string](complaint, "text"); version[0] != '0' || !ignored.MatchString(text) {
					t.Errorf("the library logs %s", text)
				}
			}
		})
	}
}

// turnsOfLibraries maps the steps of a library's driver to a text that the agent's answer contains.
var turnsOfLibraries = map[string]string{
	"read": "first note", "command": "from the shell", "write": "created made.txt", "think": "I thought that", "plan": "the plan is shown",
	"stream": "sixty-four bytes", "ask": "which colour", "again": "hello",
}

// Two versions of acp-go-sdk, the early one only on demand, do all that both can do, and load a session that has an image of 9 MB: the library reads
// no line that is longer than 10 MB. The early version may show what it is told in another order.
func TestACPGoLibraries(t *testing.T) {
	t.Parallel()
	for name, modfile := range map[string]string{"0.6.3": "go.mod", "0.13.0": "later.mod"} {
		if name == "0.6.3" && !everyHost() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "acpsdk")
			build := exec.Command("go", "build", "-C", filepath.Join("testdata", "acpsdk"), "-modfile", modfile, "-o", program, ".")
			if text, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", build.Args, err, text)
			}
			p := newPlace(t)
			s := p.driven(t, program, binary, "acp")
			s.stops(map[string]string{"image": ""})
			if name == "0.13.0" {
				s.stops(turnsOfLibraries)
			}
			if result := get[object](s.step("done", "cancel"), "result"); result["stopReason"] != "cancelled" {
				t.Errorf("cancelled while a permission is open: %v", result)
			}
			if n := len(s.all("asked")); n != 3 {
				t.Errorf("%d permissions were asked, want 3:\n%s", n, s.tail())
			}
			s.replays(false)
			if made, err := os.ReadFile(filepath.Join(p.work, "made.txt")); string(made) != "hello" {
				t.Errorf("made.txt has %q, %v", made, err)
			}
		})
	}
}

// stops checks turns by their names: each has ended by itself, with a text.
func (s *session) stops(turns map[string]string) {
	s.t.Helper()
	for name, want := range turns {
		end := s.step("stop", name)
		wantText(s.t, name, get[string](end, "text"), want)
		if got := get[string](end, "stopReason"); got != "end_turn" {
			s.t.Errorf("%s: stop reason %q", name, got)
		}
	}
}

// replays checks that a session that was loaded is shown as it was, with its modes: only the first libraries
// want null instead.
func (s *session) replays(null bool) {
	s.t.Helper()
	loaded := s.step("done", "load")
	kinds := get[[]string](loaded, "kinds")
	for _, kind := range []string{"user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "plan"} {
		if !slices.Contains(kinds, kind) {
			s.t.Errorf("the replay has no %s: %q", kind, kinds)
		}
	}
	if result := get[object](loaded, "result"); null != (result["modes"] == nil) {
		s.t.Errorf("session/load answers %s", loaded.raw)
	}
}

// step returns the output of a driver about the step of that name.
func (s *session) step(kind, name string) seen {
	s.t.Helper()
	list := s.all(kind)
	i := slices.IndexFunc(list, func(e seen) bool { return get[string](e, "step") == name })
	if i < 0 {
		s.t.Fatalf("the step %s was not done:\n%s", name, s.tail())
	}
	return list[i]
}
