package setup

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"dragoman/cmd/internal/program/programtest"
	"dragoman/configs/configstest"
	"dragoman/core"
	"dragoman/core/control"
)

// Only the owner of a configuration may do anything with its servers.
func TestOthersDoNothingWithServers(t *testing.T) {
	r := newRoom(t, nil, nil)
	r.configure("mcp_servers: {a: {command: x}}\n")
	made, err := r.profiles.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []core.Client{
		{Principal: core.Local, Role: core.Observe}, {Principal: "somebody", Role: core.Decide}, {Role: core.Decide}, {Principal: core.Local},
	} {
		for _, what := range []control.Action{control.Start{}, control.Stop{}, control.Disable{}, control.Remove{}, control.Add{Spec: core.ServerSpec{Command: "y"}}} {
			if err := control.Of(&made.Profile).Do(t.Context(), by, []string{r.dir}, "a", what); err == nil {
				t.Errorf("%+v did %T", by, what)
			}
		}
	}
}

// A server in an editor's options does not become the user's own by a change.
func TestServerOfTheEditorIsChangedThere(t *testing.T) {
	r := newRoom(t, nil, nil)
	if err := r.profiles.Configure([]byte(`{"mcp_servers":{"a":{"command":"x","env":{"LD_PRELOAD":"/tmp/x.so"}}}}`)); err != nil {
		t.Fatal(err)
	}
	user := core.Client{Principal: core.Local, Role: core.Decide}
	for _, what := range []control.Action{control.Change{Command: "y"}, control.Disable{}, control.Remove{}} {
		if err := (serverControl{p: r.profiles.edition()}).Do(t.Context(), user, []string{r.dir}, "a", what); err == nil {
			t.Errorf("%T was done", what)
		}
	}
	if b, err := os.ReadFile(r.profiles.process.env.ConfigFile()); err == nil && strings.Contains(string(b), "LD_PRELOAD") {
		t.Errorf("it is the user's now:\n%s", b)
	}
}

func TestChangedServer(t *testing.T) {
	c := configstest.Parsed(t, `mcp_servers:
  prog: {command: p, args: [a], env: {K: v}, dir: /d, start: session}
  addr: {url: "https://x.example/mcp?key=secret", headers: {H: v}, transport: sse}
`)
	for _, tt := range []struct {
		name, server string
		to           control.Change
		want, wrong  string
	}{
		{"args", "prog", control.Change{Args: []string{}}, `p [] env 1 dir /d url "" headers 0 session`, ""},
		{"command", "prog", control.Change{Command: "q"}, `q [a] env 1 dir /d url "" headers 0 session`, ""},
		{"becomes an address", "prog", control.Change{URL: "https://y.example"}, ` [] env 0 dir  url "https://y.example" headers 0 session`, ""},
		{"becomes a program", "addr", control.Change{Command: "q", Args: []string{"b"}}, `q [b] env 0 dir  url "" headers 0 `, ""},
		{"the same address, as it is shown", "addr", control.Change{URL: c.MCPServers["addr"].URL.String()}, ` [] env 0 dir  url "https://x.example/mcp?key=secret" headers 1 `, ""},
		{"both", "prog", control.Change{Command: "q", URL: "https://y.example"}, "", "not both"},
		{"nothing", "prog", control.Change{}, "", "nothing to change"},
		{"args of an address", "addr", control.Change{Args: []string{"x"}}, "", "give a command"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is, err := changed(c.MCPServers[tt.server], tt.to)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("%v", err)
				}
				return
			}
			address, urlErr := is.URL.Resolve(nil)
			if err != nil || urlErr != nil && !is.URL.IsZero() {
				t.Fatal(err, urlErr)
			}
			words := []string{}
			for _, a := range is.Args {
				words = append(words, a.String())
			}
			got := is.Command.String() + " [" + strings.Join(words, " ") + "] env " + strconv.Itoa(len(is.Env)) + " dir " + is.Dir.String() +
				" url " + strconv.Quote(address) + " headers " + strconv.Itoa(len(is.Headers)) + " " + strings.TrimPrefix(is.Start, "auto")
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// mcp.json is watched like the configuration: its creation, a change, a mistake and its removal.
func TestServersFileIsReloaded(t *testing.T) {
	r := newRoom(t, nil, nil)
	r.configure("mcp_servers: {a: {command: x}}\n")
	path := r.profiles.process.env.ServersFile()
	shown := func() string {
		t.Helper()
		made, err := r.profiles.Load()
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, name := range made.Config.ServerNames() {
			s, _ := made.Config.Server(name)
			word := name + " " + s.Command.String()
			if _, usable := made.Config.MCPServers[name]; !usable {
				word += " unusable"
			}
			if s.Disabled {
				word += " disabled"
			}
			list = append(list, word)
		}
		if fault := r.profiles.edition().faultNow(); fault != "" {
			list = append(list, fault)
		}
		return strings.ReplaceAll(strings.Join(list, ", "), path, "FILE")
	}
	for _, c := range []struct{ text, want string }{
		{"", "a x"},
		{`{"mcpServers": {"b": {"command": "y"}}, "disabled": ["a"]}`, "a x disabled, b y"},
		{`{"mcpServers": {"b": {"command": "yy"}, "c": {}}}`, "a x, b yy, c  unusable"},
		{`{"mcpServers": {"b": {"command": "yyy"}}`, "a x, b yy, c  unusable, FILE:1:41: the file ends too early: a bracket, a quote or a comment is not closed"},
		{"{}", "a x"},
		{`{"mcpServers": {"a": {"command": "z"}}}`, "a x"},
		{"", "a x"},
	} {
		if c.text == "" {
			_ = os.Remove(path) // at first it does not exist
		} else {
			programtest.Write(t, path, c.text)
		}
		if got := shown(); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}
