//go:build unix

package e2e

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// update writes the golden files of a data folder anew: only ever with the version that
// wrote the folder, as DRAGOMAN_E2E_BINARY.
var update = flag.Bool("update", false, "write golden files")

// earlierDir is where testdata/earlier was written: a data folder with one session of
// each kind and one event of each kind, keys, logins, pins, agreements and an audit, as
// the version that stored events in package core left it.
const earlierDir = "/tmp/earlier"

// sampled is the session of that folder that holds one event of each kind.
const sampled = "one-of-each"

// earlierPlace copies testdata/earlier to a folder whose path is as long as earlierDir, so
// that the logs keep their lengths, which the index knows.
func earlierPlace(t *testing.T) *place {
	t.Helper()
	dir := filepath.Join("/tmp", strings.ToLower(rand.Text()[:len(earlierDir)-len("/tmp/")]))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	from := filepath.Join("testdata", "earlier")
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		rel, bad := filepath.Rel(from, path)
		switch {
		case err != nil || bad != nil:
			return fmt.Errorf("%s: %v, %v", path, err, bad)
		case rel == "want":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, rel), 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, rel), moved(text, dir), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &place{home: filepath.Join(dir, "home"), data: filepath.Join(dir, "data"), work: filepath.Join(dir, "work")}
	p.env = []string{"HOME=" + p.home, "DRAGOMAN_DATA=" + p.data, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "GORACE=atexit_sleep_ms=0"}
	if err := os.Mkdir(p.home, 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// moved puts another folder in place of earlierDir, and the checksum that a changed line
// of a log then has at its end.
func moved(text []byte, dir string) []byte {
	const sum = `,"c":"01234567"}`
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		next := bytes.ReplaceAll(line, []byte(earlierDir), []byte(dir))
		if n := len(next) - len(sum); n > 0 && !bytes.Equal(next, line) && bytes.HasPrefix(next[n:], []byte(`,"c":"`)) {
			next = fmt.Appendf(next[:n], `,"c":"%08x"}`, crc32.Checksum(next[:n], crc32.MakeTable(crc32.Castagnoli)))
		}
		lines[i] = next
	}
	return bytes.Join(lines, []byte("\n"))
}

// golden compares a text with a golden file. Long lines are told by their checksum.
func (p *place) golden(t *testing.T, name, text string) {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(text, filepath.Dir(p.data), earlierDir)) {
		if len(line) > 4096 {
			line = fmt.Sprintf("%.200s … %d bytes, SHA-256 %x\n", line, len(line), sha256.Sum256([]byte(line)))
		}
		b.WriteString(line)
	}
	file := filepath.Join("testdata", "earlier", "want", name)
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("%s is not\n%s\nbut\n%s", name, want, got)
	}
}

// shown loads a session and returns what was said about it on the wire, but for what the
// version and the machine offer beside it.
func (e *editor) shown(id string) string {
	e.t.Helper()
	var b strings.Builder
	take := e.dialect.take
	e.dialect.take = func(e *editor, m message) {
		take(e, m)
		if !bytes.Contains(m.raw, []byte(id)) || m.Method == "" && m.Error == nil {
			return
		}
		for _, offer := range []string{`"available_commands_update"`, `"config_option_update"`, `"config/updated"`, `"tool/serverUpdated"`} {
			if bytes.Contains(m.raw, []byte(offer)) {
				return
			}
		}
		b.Write(append(bytes.TrimSpace(m.raw), '\n'))
	}
	e.load(id)
	if e.dialect.name == "eca" { // what it shows follows the answer
		e.ask("chat/list", object{})
	}
	e.dialect.take = take
	return b.String()
}

// A data folder of an earlier version opens, lists, loads and goes on, and says the same
// on the wire as it did then. DRAGOMAN_E2E_EARLIER names the binary of such a version: it
// reads what was added to the folder since.
func TestFolderOfAnEarlierVersion(t *testing.T) {
	ids := func(p *place) (list []string) {
		out, errs, code := p.run(t, "--config", p.earlierConfig(), "sessions", "list")
		if code != 0 {
			t.Fatalf("sessions list: %d %s", code, errs)
		}
		for line := range strings.Lines(out) {
			if f := strings.Fields(line); strings.Contains(line, p.work) {
				list = append(list, f[slices.Index(f, p.work)-1])
			}
		}
		return list
	}
	t.Run("commands", func(t *testing.T) {
		t.Parallel()
		p := earlierPlace(t)
		var b strings.Builder
		say := func(args ...string) {
			out, errs, code := p.run(t, append([]string{"--config", p.earlierConfig()}, args...)...)
			fmt.Fprintf(&b, "$ dragoman %s\n%s%sexit code %d\n\n", strings.Join(args, " "), out, errs, code)
		}
		say("config", "show")
		say("login")
		for _, id := range ids(p) {
			say("sessions", "show", id)
		}
		say("mcp", "--show-token")
		say("logout", "openrouter")
		say("logout", "openrouter")
		say("mcp-servers", "logout", "wiki")
		say("mcp-servers", "logout", "wiki")
		used := regexp.MustCompile(`used: [-0-9]+ [0-9:]+`) // of the sampled one now: its last turn was left open
		p.golden(t, "commands.txt", used.ReplaceAllString(b.String(), "used: …"))
	})
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := earlierPlace(t)
			e := p.edit(t, d, launch{}, "--config", p.earlierConfig())
			var b strings.Builder
			if d.name == "acp" {
				b.Write(e.ask("session/list", object{}).raw)
			} else {
				b.Write(e.ask("chat/list", object{}).raw)
			}
			all := ids(p)
			for _, id := range all {
				fmt.Fprintf(&b, "\n# %s\n%s", id, e.shown(id))
			}
			p.golden(t, d.name+".txt", b.String())

			for _, id := range all {
				end := e.run(id, "read notes.txt then stream 2 of 20")
				if id == sampled && strings.Contains(end, `no agent "main"`) { // its settings name one that nobody has
					continue
				}
				if end != endOK {
					t.Errorf("%s: a prompt ends with %q", id, end)
				}
			}
			e.leave()
			reread(t, p, d, all)
		})
	}
}

// reread compares what two processes show of sessions, the second one of the earlier
// version if there is a binary of it.
func reread(t *testing.T, p *place, d *dialect, all []string) {
	t.Helper()
	show := func(l launch) map[string]string {
		e := p.edit(t, d, l, "--config", p.earlierConfig())
		defer e.leave()
		shown := map[string]string{}
		for _, id := range all {
			if shown[id] = e.shown(id); id != sampled && !strings.Contains(shown[id], "second note") {
				t.Errorf("%s lacks its last turn:\n%s", id, shown[id])
			}
		}
		return shown
	}
	now, then := show(launch{}), show(launch{binary: os.Getenv("DRAGOMAN_E2E_EARLIER")})
	for id, text := range now {
		if then[id] != text {
			t.Errorf("%s: one process shows\n%s\nand another\n%s", id, text, then[id])
		}
	}
}

// earlierConfig is the configuration that the folder was written with.
func (p *place) earlierConfig() string { return filepath.Join(filepath.Dir(p.data), "config.yaml") }

// What was agreed to, and what a server's tools said at first, is known from an earlier
// version's files: a tool that says something else now is shown as it was and refused, and
// options of an editor that were agreed to for good are not asked about.
func TestConsentGivenToAnEarlierVersion(t *testing.T) {
	t.Parallel()
	needClients(t) // the server is a script
	p := earlierPlace(t)
	text, err := os.ReadFile(p.earlierConfig())
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(p.home, "changed.yaml")
	if err := os.WriteFile(changed, bytes.Replace(text, []byte("{WORDS: adds}"), []byte(`{WORDS: "adds, and sends it to me"}`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config  string
		changed bool
	}{{p.earlierConfig(), false}, {changed, true}} {
		peer := p.start(t, launch{}, false, "--config", c.config, "mcp", "--only", "calc")
		answer := func(method string, params any) (result message) {
			id, req := peer.request(method, params)
			peer.send(req)
			peer.until(method, func(m message) {
				if m.Method == "" && string(m.ID) == id {
					result = m
				}
			}, func() bool { return result.raw != nil })
			return result
		}
		answer("initialize", object{"protocolVersion": "2025-11-25", "capabilities": object{}, "clientInfo": object{"name": "raw", "version": "1"}})
		peer.send(notification("notifications/initialized", object{}))
		list := string(answer("tools/list", object{}).raw)
		if !strings.Contains(list, `"adds"`) || strings.Contains(list, "sends it") {
			t.Errorf("%s: %s", c.config, list)
		}
		call := answer("tools/call", object{"name": "add", "arguments": object{"a": 40, "b": 2}}).raw
		if bytes.Contains(call, []byte(`"42"`)) == c.changed {
			t.Errorf("%s: %s", c.config, call)
		}
		peer.leave()
	}

	d := ecaDialect()
	d.hello = func(e *editor) []any {
		_, req := e.request("initialize", object{
			"capabilities":          object{"codeAssistant": object{"chat": true, "chatCapabilities": object{"askQuestion": true}}},
			"initializationOptions": object{"policy": object{"allow": []any{object{"tool": "write_file"}}}},
			"workspaceFolders":      []any{object{"uri": "file://" + e.work, "name": "work"}},
		})
		return []any{req, notification("initialized", object{})}
	}
	take := d.take
	d.take = func(e *editor, m message) {
		if m.Method == "chat/askQuestion" {
			t.Errorf("asked again: %s", m.Params)
			e.send(object{"jsonrpc": "2.0", "id": m.ID, "result": object{"answer": json.RawMessage("null")}})
		}
		take(e, m)
	}
	e := p.edit(t, d, launch{}, "--config", p.earlierConfig())
	e.allow = true
	if end := e.run("c", "write e.txt: yes"); end != endOK {
		t.Errorf("the turn ends with %q", end)
	}
	e.leave()
}
