package setup

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"dragoman/core"
)

// Only whose configuration it is may do anything with its servers.
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
		for _, what := range []core.ServerAction{core.StartServer{}, core.StopServer{}, core.DisableServer{}, core.RemoveServer{}, core.AddServer{Spec: core.ServerSpec{Command: "y"}}} {
			if err := made.Servers.Do(t.Context(), by, []string{r.dir}, "a", what); err == nil {
				t.Errorf("%+v did %T", by, what)
			}
		}
	}
}

// What an editor's options name is not made the user's own by the way.
func TestServerOfTheEditorIsChangedThere(t *testing.T) {
	r := newRoom(t, nil, nil)
	if err := r.profiles.Configure([]byte(`{"mcp_servers":{"a":{"command":"x","env":{"LD_PRELOAD":"/tmp/x.so"}}}}`)); err != nil {
		t.Fatal(err)
	}
	user := core.Client{Principal: core.Local, Role: core.Decide}
	for _, what := range []core.ServerAction{core.ChangeServer{Command: "y"}, core.DisableServer{}, core.RemoveServer{}} {
		if err := (serverControl{r.profiles}).Do(t.Context(), user, []string{r.dir}, "a", what); err == nil {
			t.Errorf("%T was done", what)
		}
	}
	if b, err := os.ReadFile(r.profiles.env.ConfigFile()); err == nil && strings.Contains(string(b), "LD_PRELOAD") {
		t.Errorf("it is the user's now:\n%s", b)
	}
}

func TestChangedServer(t *testing.T) {
	c := parsed(t, `mcp_servers:
  prog: {command: p, args: [a], env: {K: v}, dir: /d, start: session}
  addr: {url: "https://x.example/mcp?key=secret", headers: {H: v}, transport: sse}
`)
	for _, tt := range []struct {
		name, server string
		to           core.ChangeServer
		want, wrong  string
	}{
		{"args", "prog", core.ChangeServer{Args: []string{}}, `p [] env 1 dir /d url "" headers 0 session`, ""},
		{"command", "prog", core.ChangeServer{Command: "q"}, `q [a] env 1 dir /d url "" headers 0 session`, ""},
		{"becomes an address", "prog", core.ChangeServer{URL: "https://y.example"}, ` [] env 0 dir  url "https://y.example" headers 0 session`, ""},
		{"becomes a program", "addr", core.ChangeServer{Command: "q", Args: []string{"b"}}, `q [b] env 0 dir  url "" headers 0 `, ""},
		{"the same address, as it is shown", "addr", core.ChangeServer{URL: c.MCPServers["addr"].URL.String()}, ` [] env 0 dir  url "https://x.example/mcp?key=secret" headers 1 `, ""},
		{"both", "prog", core.ChangeServer{Command: "q", URL: "https://y.example"}, "", "not both"},
		{"nothing", "prog", core.ChangeServer{}, "", "nothing to change"},
		{"args of an address", "addr", core.ChangeServer{Args: []string{"x"}}, "", "give a command"},
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
