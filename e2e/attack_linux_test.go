package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The tests TestAttack01 to TestAttack34 play attackers against the binary. Each is a table of
// attacks of one kind, and shows by what is left on the disk, by what the model and the clients were
// told, and by what has run that the attack had no effect. Where a package has a thorough test of its
// own, the comment names it.
//
//	01 paths that lead out of the workspace
//	02 links that do
//	03 other spellings of a protected name
//	04 ways around a rule that denies reading
//	05 files that decide what runs later
//	06 files that are none: devices, pipes, the process table
//	07 ids and imported settings that are paths or commands
//	08 text around a command that is allowed or denied
//	09 programs that run other programs
//	10 very many commands in one line
//	11 variables that change what a command does
//	12 programs that a repository has git run
//	13 text that is shown in another way than it runs
//	14 calls that change behind the answer, and answers that count too far
//	15 answers that are none of those that were offered
//	16 answers that are late, doubled or missing
//	17 answers from another session or from the past
//	18 trust that leaks from one client to another
//	19 callers over MCP that allow themselves something
//	20 web pages that talk to the local port
//	21 requests without the right token
//	22 clients that are slow, large or many
//	23 messages that two parsers read differently
//	24 external agents that send what nobody asked for
//	25 settings that a cloned repository brings
//	26 servers that a client brings
//	27 servers whose tools change or take another's name
//	28 logins that lead elsewhere
//	29 addresses of local networks in disguise
//	30 keys in the environment of programs
//	31 keys in logs, errors and output
//	32 programs that try to outlive their session
//	33 what is left over: descriptors, locks, files that others can read
//	34 programs at the socket of a process
//
// Left out, because there is no such thing yet: trust of workspaces and of their configuration,
// WebSockets, bundles of sessions to import, telemetry. Spellings that only macOS and Windows take for
// the same file are tried for what they are on Linux, a file of its own.

// levels are how far commands can be confined.
var levels = []string{"full", "files", "none"}

// siege is a session of an ACP client whose model makes whatever call a test wants. Beside the
// workspace is a folder, and in the home folder a key, that nobody may see or change.
type siege struct {
	*acpClient
	place   *place
	model   *puppet
	id      string
	secret  string
	outside string
	before  map[string]string
}

// siegePlace is a place that no sandbox replaces by an empty folder, as it does with /tmp.
func siegePlace(t testing.TB) (p *place, outside, secret string) {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "dragoman-attack-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	p, outside, secret = placeIn(t, dir), filepath.Join(dir, "outside"), "canary"+odd()
	for _, name := range []string{filepath.Join(outside, "secret.txt"), filepath.Join(p.home, ".ssh", "id_rsa"), p.work + "-evil/secret.txt"} {
		p.put(t, name, secret+"\n")
	}
	return p, outside, secret
}

// siege begins one, with more lines of configuration.
func (p *place) siege(t *testing.T, outside, secret, config string) *siege {
	t.Helper()
	s := &siege{place: p, outside: outside, secret: secret, model: newPuppet(t)}
	s.before = s.standing()
	path := filepath.Join(filepath.Dir(p.home), "config.yaml")
	p.put(t, path, s.model.config()+config)
	s.acpClient = p.acpClientOf(t, quickly(t), object{}, true, "--config", path)
	s.permission, s.wary = "reject_once", true
	s.id = s.session()
	return s
}

// besiege begins a siege in a place of its own. Whatever is asked is rejected, unless the test says
// otherwise.
func besiege(t *testing.T, config string) *siege {
	t.Helper()
	p, outside, secret := siegePlace(t)
	return p.siege(t, outside, secret, config)
}

// do has the model call a tool, and returns what the model was told.
func (s *siege) do(tool string, args object) string {
	s.t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		s.t.Fatal(err)
	}
	if end := s.prompt(s.id, tool+" "+string(b)); end != "end_turn" {
		s.t.Errorf("%s %s: the turn ended with %s", tool, b, end)
	}
	return s.model.told()
}

// run has the model run a command.
func (s *siege) run(line string) string {
	s.t.Helper()
	return s.do("shell_command", object{"command": line})
}

// asks counts the approvals so far.
func (s *siege) asks() (n int) {
	for _, method := range s.asked {
		if method == "session/request_permission" {
			n++
		}
	}
	return n
}

// wantAsked runs a command that must be asked about, and is rejected.
func (s *siege) wantAsked(line string) {
	s.t.Helper()
	n := s.asks()
	if told := s.run(line); s.asks() != n+1 {
		s.t.Errorf("%.200q: %d questions; the model was told %.300q", line, s.asks()-n, told)
	}
}

// standing is what stands around the workspace: modes and contents by path.
func (s *siege) standing() map[string]string {
	found := map[string]string{}
	for _, dir := range []string{s.outside, s.place.home, s.place.work + "-evil"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fi, err := d.Info()
			if err != nil {
				return err
			}
			found[path] = fi.Mode().String()
			if fi.Mode().IsRegular() {
				text, err := os.ReadFile(filepath.Clean(path))
				found[path] += " " + string(text)
				return err
			}
			return nil
		})
		if err != nil {
			found[dir] = err.Error()
		}
	}
	return found
}

// untouched fails if anything around the workspace has changed.
func (s *siege) untouched() {
	s.t.Helper()
	after := s.standing()
	for path, was := range s.before {
		if after[path] != was {
			s.t.Errorf("%s was %.200q and is %.200q", path, was, after[path])
		}
		delete(after, path)
	}
	for path := range after {
		s.t.Errorf("%s has appeared", path)
	}
}

// unseen fails if the model or the log was told a secret. The client's user may see what is asked about.
func (s *siege) unseen(secret string) {
	s.t.Helper()
	for what, text := range map[string]string{"the model": s.model.all(), "the log": s.stderr()} {
		if i := strings.Index(text, secret); i >= 0 {
			s.t.Errorf("%s was told the secret: %q", what, text[max(0, i-300):i])
		}
	}
}

// over ends the session: nothing outside may have changed or been seen.
func (s *siege) over() {
	s.t.Helper()
	s.leave()
	s.untouched()
	s.unseen(s.secret)
}

// absent fails if there is something at a path.
func absent(t testing.TB, path, why string) {
	t.Helper()
	if _, err := os.Lstat(path); err == nil {
		t.Errorf("%s: %s is there", why, path)
	}
}

// holds fails if a file has another text.
func holds(t testing.TB, path, want, why string) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Clean(path)); string(text) != want {
		t.Errorf("%s: %s is %.200q, want %q (%v)", why, path, text, want, err)
	}
}

// puppet is a model, behind the API of OpenAI, whose first answer in a turn calls a tool: what the
// prompt says, as NAME {…}. It keeps what it was told.
type puppet struct {
	url string

	mu     sync.Mutex // guards the fields below
	calls  int
	bodies []string
	result string // of the newest call
}

func newPuppet(t *testing.T) *puppet {
	t.Helper()
	m := &puppet{}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

// config is what makes it the model of a configuration.
func (m *puppet) config() string {
	return fmt.Sprintf("model: mock/m\nproviders:\n  mock: {kind: openai-chat, base_url: \"%s/v1\", api_key: x}\n", m.url)
}

func (m *puppet) told() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.result
}

func (m *puppet) all() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.bodies, "\n")
}

// hear takes a request down and returns its last message, and a number for a call.
func (m *puppet) hear(body []byte) (role, text string, n int, err error) {
	var asked struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return "", "", 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bodies = append(m.bodies, string(body))
	if len(asked.Messages) == 0 {
		return "", "", 0, nil
	}
	last := asked.Messages[len(asked.Messages)-1]
	if json.Unmarshal(last.Content, &text) != nil {
		text = string(last.Content) // in parts
	}
	if last.Role == "tool" {
		m.result = text
	}
	m.calls++
	return last.Role, text, m.calls, nil
}

func (m *puppet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	role, text, n, err := m.hear(body)
	if err != nil {
		http.Error(w, fmt.Sprintf("%v: %.500s", err, body), http.StatusBadRequest)
		return
	}
	delta, reason := object{"role": "assistant", "content": "done"}, "stop"
	if name, args, ok := strings.Cut(text, " "); ok && role == "user" && strings.HasPrefix(args, "{") {
		delta, reason = object{"role": "assistant", "tool_calls": []any{object{
			"index": 0, "id": fmt.Sprint("call_", n), "type": "function", "function": object{"name": name, "arguments": args},
		}}}, "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range []object{{"delta": delta}, {"delta": object{}, "finish_reason": reason}} {
		chunk["index"] = 0
		b, err := json.Marshal(object{"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": []any{chunk}})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// optionsOf lists the kinds of answers that an approval offers.
func optionsOf(t testing.TB, m message) (kinds []string) {
	t.Helper()
	var p struct{ Options []struct{ Kind string } }
	if err := json.Unmarshal(m.Params, &p); err != nil {
		t.Fatalf("%s: %v", m.raw, err)
	}
	for _, o := range p.Options {
		kinds = append(kinds, o.Kind)
	}
	slices.Sort(kinds)
	return kinds
}

// call is a prompt for which the model calls a tool, written but not sent.
func (s *siege) call(tool string, args object) object {
	s.t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		s.t.Fatal(err)
	}
	_, req := s.request("session/prompt", promptOf(s.id, tool+" "+string(b)))
	return req
}
