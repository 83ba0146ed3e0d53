package setup

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"dragoman/cmd/internal/logs"
	"dragoman/configs/configstest"
	"dragoman/core"
	"dragoman/core/board"
)

func TestServersStayWhileTheConfigurationIsUnchanged(t *testing.T) {
	b := board.New()
	s := &upstreams{env: func(string) (string, bool) { return "", false }, log: zap.NewNop(), logs: &logs.Servers{}, audit: &logs.Audit{}}
	t.Cleanup(s.close)
	e := &edition{Process: &Process{board: b}}
	first := s.toolbox(configstest.Parsed(t, ""), "", e)
	steps := []struct{ config, board, rev string }{
		{"mcp_servers: {a: {command: x}, b: {command: y, disabled: true}}\n", "a stopped, b disabled", "a1 b1"},
		{"# a comment\nmodel: groq/x\nmcp_servers: {a: {command: x}, b: {command: y, disabled: true}}\n", "a stopped, b disabled", "a1 b1"},
		{"mcp_servers: {b: {command: y}, c: {command: z}}\n", "a gone, b stopped, c stopped", "b2 c1"},
		{"mcp_servers: {b: {command: y, env: {KEY: one}}, c: {command: z}}\n", "a gone, b stopped, c stopped", "b3 c1"},
		{"mcp_servers: {b: {command: y, env: {KEY: two}}, c: {command: z}}\n", "a gone, b stopped, c stopped", "b4 c1"},
		{"mcp_servers: {a: {command: x}}\n", "a stopped, b gone, c gone", "a2"},
	}
	for i, step := range steps {
		box := s.toolbox(configstest.Parsed(t, step.config), "", e)
		if box != s.of(e) || box != first {
			t.Errorf("step %d: another toolbox", i)
		}
		rev := []string{}
		for _, name := range slices.Sorted(maps.Keys(s.served(e).config.MCPServers)) {
			rev = append(rev, name+strconv.Itoa(s.served(e).rev[name]))
		}
		if got := strings.Join(rev, " "); got != step.rev {
			t.Errorf("step %d: revisions %s, want %s", i, got, step.rev)
		}
		if got := statuses(t, b); got != step.board {
			t.Errorf("step %d: on the board %s, want %s", i, got, step.board)
		}
	}
}

// A change of one server does not affect the process of another, in an open session.
func TestChangeOfOneServerLeavesTheOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it needs a shell")
	}
	r := newRoom(t, map[string]string{"PATH": os.Getenv("PATH")}, nil)
	t.Cleanup(r.profiles.process.Close)
	dir := t.TempDir()
	server := func(name, more string) string {
		script := "echo $$ >>" + filepath.Join(dir, name) + "; exec " + binary + " mcp"
		return name + ": {command: sh, args: [-c, " + strconv.Quote(script) + "], env: {DRAGOMAN_DATA: " + strconv.Quote(t.TempDir()) + more + "}}"
	}
	starts := func(name string, n int) (got []string) { // a turn does not wait for them for ever
		for ctx := t.Context(); len(got) < n && ctx.Err() == nil; runtime.Gosched() {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			got = strings.Fields(string(b))
		}
		return got
	}
	stays := server("stays", "")
	r.configure("mcp_servers: {" + stays + ", " + server("changes", "") + "}\n")
	r.say("hello")
	starts("stays", 1)
	starts("changes", 1)
	r.configure("mcp_servers: {" + stays + ", " + server("changes", ", MORE: x") + "}\n")
	r.say("hello")
	got := starts("changes", 2)
	if got := starts("stays", 1); len(got) != 1 || !lives(t, got[0]) {
		t.Errorf("the one that stays was started as %q", got)
	}
	if len(got) != 2 || !lives(t, got[1]) {
		t.Fatalf("the one that changes was started as %q", got)
	}
	for ctx := t.Context(); lives(t, got[0]) && ctx.Err() == nil; { // it ends at some time
		runtime.Gosched()
	}
}

func lives(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(n)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

func statuses(t *testing.T, b *board.Board) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	list, _, err := b.Next(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range list {
		status := "gone"
		if item, ok := p.Item.(board.Server); ok {
			status = item.Status
		}
		got = append(got, p.Topic.Name+" "+status)
	}
	slices.Sort(got)
	return strings.Join(got, ", ")
}

// A server's prompt is a command, once a turn has started the server.
func TestPromptsOfServersAreCommands(t *testing.T) {
	r := newRoom(t, map[string]string{"PATH": os.Getenv("PATH")}, nil)
	r.configure("mcp_servers: {self: {command: " + strconv.Quote(binary) + ", args: [mcp], env: {DRAGOMAN_DATA: " + strconv.Quote(t.TempDir()) + "}}}\n")
	t.Cleanup(r.profiles.process.Close)
	r.say("hello")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var command core.Command
	for command.Name == "" {
		p, err := r.gateway.Profile(ctx, nil, []string{r.dir})
		if err != nil {
			t.Fatal(err)
		}
		list := p.Commands(ctx, core.Meta{Roots: []string{r.dir}})
		if i := slices.IndexFunc(list, func(c core.Command) bool { return c.Kind == core.CommandMCP }); i >= 0 {
			command = list[i]
		}
	}
	p, err := r.gateway.Profile(ctx, nil, []string{r.dir})
	if err != nil {
		t.Fatal(err)
	}
	text, ok, err := p.Expand(ctx, []string{r.dir}, command.Name, "a b c d")
	if !ok || err != nil || text == "" {
		t.Errorf("%s: %q, %v, %v", command.Name, text, ok, err)
	}
}
