package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shapes are the ways in which programs start others, as lines of bash; $1 and the
// shape's number are the seconds for which each sleeps.
var shapes = []struct{ name, line string }{
	{"in the background", `sleep $T &`},
	{"nohup", `nohup sleep $T >/dev/null 2>&1 &`},
	{"setsid", `setsid sleep $T &`},
	{"nested setsid", `setsid sh -c "setsid sh -c 'sleep $T; true' & wait" &`},
	{"setsid -f", `setsid -f sleep $T`},
	{"double fork with setsid", `(setsid sh -c "sleep $T </dev/null >/dev/null 2>&1 & exit" &)`},
	{"bash with set -m", `bash -c "set -m; sleep $T & wait" &`},
	{"node, detached", `node -e "require('child_process').spawn('sleep', ['$T'], {detached: true, stdio: 'ignore'}).unref()" &`},
	{"node that starts bash with set -m", `node -e "require('child_process').spawn('bash', ['-c', 'set -m; sleep $T & wait'], {detached: true, stdio: 'ignore'})" &`},
	{"plain", `sleep $T`}, // last: it is waited for
}

// script is a program that starts something in all of these shapes, and after that does
// what last says; "": it sleeps as the plain one does.
func (p *place) script(t *testing.T, name, seconds, last string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("#!/bin/bash\n")
	for i, s := range shapes {
		if last != "" && s.name == "plain" {
			b.WriteString(strings.ReplaceAll(s.line, "$T", fmt.Sprint(seconds, i)) + " &\n" + last)
			break
		}
		b.WriteString(strings.ReplaceAll(s.line, "$T", fmt.Sprint(seconds, i)) + "\n")
	}
	path := filepath.Join(p.work, name)
	if err := os.WriteFile(path, []byte(b.String()), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// mcpLines is an MCP server in bash, with one tool.
const mcpLines = `while read -r line; do
	id=${line#*'"id":'}; id=${id%%[,\}]*}
	case $line in
	*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shapes","version":"1"}}}\n' "$id" ;;
	*'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
	*'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
	esac
done
`

// odd is a number of seconds, to which a digit is added, that no other program sleeps
// for.
func odd() string { return strconv.Itoa(10_000_000 + rand.IntN(80_000_000)) }

// asleep lists the programs that sleep for a number of seconds with the given
// beginning, with the shape and process of each.
func asleep(t *testing.T, seconds string) map[string]int {
	t.Helper()
	list := map[string]int{}
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		line, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		number, ok := strings.CutPrefix(string(line), "sleep\x00"+seconds)
		i, err := strconv.Atoi(strings.Trim(number, "\x00"))
		if ok && err == nil && i < len(shapes) {
			list[shapes[i].name], _ = strconv.Atoi(strings.Split(name, "/")[2])
		}
	}
	return list
}

// brood is a session whose command, job and MCP server have each started something in all
// shapes.
type brood struct {
	*acpClient
	id      string
	seconds map[string]string // by what has started it
	other   string            // of a job of another session
}

func (p *place) brood(t *testing.T, sandbox string) *brood {
	t.Helper()
	b := &brood{seconds: map[string]string{"command": odd(), "job": odd(), "MCP server": odd()}, other: odd()}
	t.Cleanup(func() { // for what a failed test leaves
		for _, seconds := range append(slices.Collect(maps.Values(b.seconds)), b.other) {
			for _, pid := range asleep(t, seconds) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	command, job := p.script(t, "command", b.seconds["command"], ""), p.script(t, "job", b.seconds["job"], "")
	server := p.script(t, "server", b.seconds["MCP server"], mcpLines)
	config := p.config(t, newPuppet(t).config()+fmt.Sprintf(`policy: {default: allow, unattended: anywhere, sandbox: %s}
mcp_servers:
  shapes: {command: %q}
`, sandbox, server))
	b.acpClient = p.acpClientOf(t, quickly(t), object{}, true, "--config", config)
	b.id = b.session()
	call := func(line string, more object) string {
		more["command"] = line
		args, err := json.Marshal(more)
		if err != nil {
			t.Fatal(err)
		}
		return "shell_command " + string(args)
	}
	if end := b.prompt(b.id, call(job, object{"background": true})); end != "end_turn" {
		t.Fatalf("the job: %s", end)
	}
	other := b.session()
	if end := b.prompt(other, call("sleep "+b.other+"0; true", object{"background": true})); end != "end_turn" {
		t.Fatalf("the other session's job: %s", end)
	}
	b.begin("session/prompt", promptOf(b.id, call(command, object{})))
	for what, seconds := range b.seconds {
		b.soon("all shapes of the "+what+" run", func() bool { return len(asleep(t, seconds)) == len(shapes) })
	}
	b.soon("the other session's job runs", func() bool { return len(asleep(t, b.other)) == 1 })
	return b
}

func (b *brood) soon(what string, so func() bool) {
	b.t.Helper()
	deadline, look := time.NewTimer(patience), time.NewTicker(10*time.Millisecond)
	defer deadline.Stop()
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-deadline.C:
			b.t.Fatalf("not yet: %s\n%s", what, b.stderr())
		}
	}
}

// traces lists what the system says of a process and of its parent: enough to see how it
// got away.
func traces(pid int) string {
	var b strings.Builder
	file := func(pid int, name string, keep ...string) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			text = []byte(err.Error())
		}
		for line := range strings.Lines(string(text)) {
			if err != nil || slices.ContainsFunc(keep, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
				b.WriteString("\n\t" + strings.TrimSpace(line))
			}
		}
	}
	file(pid, "stat", "")
	file(pid, "limits", "Max realtime timeout") // the mark
	file(pid, "status", "Sig", "Shd")
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	var state string
	var parent int
	if _, err2 := fmt.Sscan(string(stat[strings.LastIndex(string(stat), ")")+1:]), &state, &parent); err == nil && err2 == nil {
		file(parent, "stat", "")
	}
	return b.String()
}

// leftAlive waits until nothing is left, for 5 seconds, and says what is.
func (b *brood) leftAlive(t *testing.T) (list []string) {
	deadline, look := time.NewTimer(5*time.Second), time.NewTicker(10*time.Millisecond)
	defer deadline.Stop()
	defer look.Stop()
	for {
		list = nil
		for _, what := range slices.Sorted(maps.Keys(b.seconds)) {
			left := asleep(t, b.seconds[what])
			for _, shape := range slices.Sorted(maps.Keys(left)) {
				list = append(list, what+": "+shape+traces(left[shape]))
			}
		}
		if len(list) == 0 {
			return nil
		}
		select {
		case <-look.C:
		case <-deadline.C:
			return list
		}
	}
}

// farewells are the ways in which a session ends.
var farewells = []struct {
	name    string
	sandbox string
	stay    bool // the process lives on
	say     func(b *brood)
}{
	{"SIGKILL", "full", false, func(b *brood) { b.kill() }},
	{"SIGKILL, sandbox for files", "files", false, func(b *brood) { b.kill() }},
	{"SIGKILL, no sandbox", "none", false, func(b *brood) { b.kill() }},
	{"SIGTERM", "full", false, func(b *brood) { b.signal(syscall.SIGTERM) }},
	{"end of input", "full", false, func(b *brood) { b.in.Close() }},
	{"session close", "full", true, func(b *brood) { b.ok("session/close", object{"sessionId": b.id}) }},
}

// outlives runs one ending, and reports whether anything has outlived it.
func outlives(t *testing.T, name, sandbox string, stay bool, say func(*brood)) bool {
	t.Helper()
	b := newPlace(t).brood(t, sandbox)
	say(b)
	if !stay {
		b.drain()
		b.left(patience)
	}
	left := b.leftAlive(t)
	if len(left) > 0 {
		t.Errorf("%d of %d are alive 5 seconds after %s:\n%s", len(left), 3*len(shapes), name, strings.Join(left, "\n"))
	}
	if stay && len(asleep(t, b.other)) != 1 {
		t.Error("another session's job was ended")
	}
	if !stay && len(asleep(t, b.other)) != 0 {
		b.soon("the other session's job is gone", func() bool { return len(asleep(t, b.other)) == 0 })
	}
	if stay {
		b.leave()
	}
	return len(left) > 0
}

// Nothing that programs start outlives the session, however it ends.
func TestNothingOutlivesASession(t *testing.T) {
	t.Parallel()
	needShapes(t)
	for _, end := range farewells {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			outlives(t, end.name, end.sandbox, end.stay, end.say)
		})
	}
}

// The same again and again: 100 rounds, or as many as there is time for.
func TestTortureNothingOutlivesASession(t *testing.T) {
	given, err := time.ParseDuration(cmp.Or(os.Getenv("DRAGOMAN_TORTURE"), "0s"))
	if err != nil {
		t.Fatal(err)
	}
	if given == 0 {
		t.Skip("DRAGOMAN_TORTURE is not set to a duration")
	}
	needShapes(t)
	deadline := time.Now().Add(given)
	rounds, failed := 0, 0
	for ; rounds < 100 && time.Now().Before(deadline); rounds++ {
		for _, end := range farewells {
			if outlives(t, end.name, end.sandbox, end.stay, end.say) {
				failed++
			}
		}
	}
	t.Logf("%d rounds of %d endings of %d programs in %d shapes: something outlived %d of %d endings",
		rounds, len(farewells), 3, len(shapes), failed, rounds*len(farewells))
}

// needShapes skips where a program is missing that starts one of the shapes.
func needShapes(t *testing.T) {
	t.Helper()
	needInstalled(t, "bash", "setsid", "node")
}

// needInstalled skips where a program is missing; with CI=true it fails.
func needInstalled(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := exec.LookPath(name)
		switch {
		case err == nil:
		case os.Getenv("CI") == "true":
			t.Fatalf("the test needs %s here: %v", name, err)
		default:
			t.Skip(err)
		}
	}
}
