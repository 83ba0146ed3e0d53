package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func npx(args ...string) MCPServer {
	s := MCPServer{Command: NewValue("npx")}
	for _, a := range args {
		s.Args = append(s.Args, NewValue(a))
	}
	return s
}

func oauth(id string) MCPServer {
	return MCPServer{URL: NewURL("https://x.example.com/mcp"), OAuth: OAuth{ClientID: NewValue(id), ClientSecret: NewSecret("s"), RedirectPort: 8080}}
}

func TestEdits(t *testing.T) {
	withEnv := npx("-y", "p")
	withEnv.Env = map[string]Secret{"TOKEN": NewSecret("${env:TOKEN}"), "LEVEL": NewSecret("1")}
	full := MCPServer{
		URL: NewURL("https://x.example.com/mcp"), Headers: map[string]Secret{"Authorization": NewSecret("Bearer ${env:T}")}, Transport: "sse",
		Disabled: true, Tools: []string{"a*"}, StartTimeout: 2 * time.Minute, CallTimeout: 10 * time.Minute,
	}
	for _, c := range []struct {
		name, in string
		edits    []Edit
		want     string
	}{
		{"an empty file", "", []Edit{AddServer("a", npx("-y", "p"))}, "mcp_servers:\n  a:\n    command: npx\n    args: [\"-y\", \"p\"]\n"},
		{"comments only", "# one\n# two", []Edit{AddServer("a", npx())}, "# one\n# two\nmcp_servers:\n  a:\n    command: npx\n"},
		{"all settings", "", []Edit{AddServer("a", full), AddServer("b", withEnv)}, `mcp_servers:
  a:
    url: "https://x.example.com/mcp"
    headers:
      Authorization: "Bearer ${env:T}"
    transport: sse
    disabled: true
    tools: ["a*"]
    start_timeout: "2m"
  b:
    command: npx
    args: ["-y", "p"]
    env:
      LEVEL: "1"
      TOKEN: "${env:TOKEN}"
`},
		{"no such key yet", "model: groq/x # the model\n\n# the end\n", []Edit{AddServer("a", npx())}, "model: groq/x # the model\n\n# the end\n\nmcp_servers:\n  a:\n    command: npx\n"},
		{"with sections apart", "# c\n\nmodel: groq/x\n", []Edit{AddServer("a", npx())}, "# c\n\nmodel: groq/x\n\nmcp_servers:\n  a:\n    command: npx\n"},
		{"apart already", "# c\r\n\r\n# d\r\n\r\n", []Edit{AddServer("a", npx())}, "# c\r\n\r\n# d\r\n\r\nmcp_servers:\r\n  a:\r\n    command: npx\r\n"},
		{"no line break at the end", "model: groq/x", []Edit{AddServer("a", npx())}, "model: groq/x\nmcp_servers:\n  a:\n    command: npx\n"},
		{"a key without a value", "mcp_servers: # mine\n\n# policy\npolicy:\n  default: ask\n", []Edit{AddServer("a", npx())}, "mcp_servers: # mine\n  a:\n    command: npx\n\n# policy\npolicy:\n  default: ask\n"},
		{"a key with nothing", "mcp_servers: ~ # mine\nmodel: groq/x\n", []Edit{AddServer("a", npx())}, "mcp_servers: # mine\n  a:\n    command: npx\nmodel: groq/x\n"},
		{"a key with empty braces", "mcp_servers: {}\nmodel: groq/x\n", []Edit{AddServer("a", npx())}, "mcp_servers:\n  a:\n    command: npx\nmodel: groq/x\n"},
		{
			"behind others", "mcp_servers:\n    a: # first\n        command: x\n        args:\n            - y # why\n    # of mine\n    #   off\n\n# model\nmodel: groq/x\n",
			[]Edit{AddServer("b", withEnv)},
			"mcp_servers:\n    a: # first\n        command: x\n        args:\n            - y # why\n    # of mine\n    #   off\n    b:\n        command: npx\n        args: [\"-y\", \"p\"]\n        env:\n            LEVEL: \"1\"\n            TOKEN: \"${env:TOKEN}\"\n\n# model\nmodel: groq/x\n",
		},
		{"CRLF", "# c\r\nmcp_servers:\r\n  a: {command: x} # c\r\n\r\nmodel: groq/x\r\n", []Edit{AddServer("b", npx())}, "# c\r\nmcp_servers:\r\n  a: {command: x} # c\r\n  b:\r\n    command: npx\r\n\r\nmodel: groq/x\r\n"},
		{"a byte order mark", "\ufeffmodel: groq/x\r\n", []Edit{AddServer("b", npx())}, "\ufeffmodel: groq/x\r\nmcp_servers:\r\n  b:\r\n    command: npx\r\n"},
		{"documents", "---\nmodel: groq/x\n# end\n...\n", []Edit{AddServer("b", npx())}, "---\nmodel: groq/x\n# end\nmcp_servers:\n  b:\n    command: npx\n...\n"},
		{"flow", "mcp_servers: {a: {command: x}} # c\nmodel: groq/x\n", []Edit{AddServer("b", withEnv)}, "mcp_servers: {a: {command: x}, b: {command: npx, args: [\"-y\", \"p\"], env: {LEVEL: \"1\", TOKEN: \"${env:TOKEN}\"}}} # c\nmodel: groq/x\n"},
		{"flow over lines", "mcp_servers: {\n  a: {command: x}, # c\n  }\n", []Edit{AddServer("b", npx())}, "mcp_servers: {\n  a: {command: x}, # c\n  b: {command: npx},\n  }\n"},
		{"JSON", "{\n\t\"model\": \"groq/x\"\n}\n", []Edit{AddServer("a", npx("y"))}, "{\n\t\"model\": \"groq/x\",\n\t\"mcp_servers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"npx\",\n\t\t\t\"args\": [\"y\"]\n\t\t}\n\t}\n}\n"},
		{"JSON with some", "{\"mcp_servers\": {\"a\": {\"command\": \"x\"}}}", []Edit{AddServer("b", npx())}, "{\"mcp_servers\": {\"a\": {\"command\": \"x\"}, \"b\": {\n  \"command\": \"npx\"\n}}}"},
		{"empty JSON", "{}\n", []Edit{AddServer("b", npx())}, "{\n  \"mcp_servers\": {\n    \"b\": {\n      \"command\": \"npx\"\n    }\n  }\n}\n"},

		{"the first one goes", "mcp_servers:\n  # a\n  a:\n    command: x\n    # of a\n  # b\n  b: {command: y}\n", []Edit{DropServer("a")}, "mcp_servers:\n  # a\n  # b\n  b: {command: y}\n"},
		{"the last one goes", "mcp_servers:\n  a: {command: x}\n  b:\n    command: y\n    args:\n    - |\n      # no comment\n\n# model\nmodel: groq/x\n", []Edit{DropServer("b")}, "mcp_servers:\n  a: {command: x}\n\n# model\nmodel: groq/x\n"},
		{"the only one goes", "mcp_servers:\n  a: {command: x}\nmodel: groq/x", []Edit{DropServer("a")}, "mcp_servers:\nmodel: groq/x"},
		{"in braces", "mcp_servers: {a: {command: x}, b: {command: y}, c: {command: z}}", []Edit{DropServer("b")}, "mcp_servers: {a: {command: x}, c: {command: z}}"},
		{"the last one in braces", "mcp_servers: {a: {command: x}, b: {command: y}}", []Edit{DropServer("b")}, "mcp_servers: {a: {command: x}}"},
		{"the only one in braces", "mcp_servers: {a: {command: x}}", []Edit{DropServer("a")}, "mcp_servers: {}"},
		{"in braces over lines", "mcp_servers: {\n  a: {command: x}, # of a\n  # b\n  b: {command: y} # of b\n}\n", []Edit{DropServer("a")}, "mcp_servers: {\n  # b\n  b: {command: y} # of b\n}\n"},
		{"the last one over lines", "mcp_servers: {\n  a: {command: x}, # of a\n  b: {command: y} # of b\n}\n", []Edit{DropServer("b")}, "mcp_servers: {\n  a: {command: x}, # of a\n}\n"},
		{"of JSON", "{\n  \"mcp_servers\": {\n    \"a\": {\"command\": \"x\"},\n    \"b\": {\"command\": \"y\"}\n  }\n}\n", []Edit{DropServer("b")}, "{\n  \"mcp_servers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n"},
		{"a wrong one", "mcp_servers:\n  a: {comand: x}\n  b: {command: y}\n", []Edit{DropServer("a")}, "mcp_servers:\n  b: {command: y}\n"},

		{"switched off", "mcp_servers:\n  a:\n    command: x # c\n  b: {command: y}\n", []Edit{DisableServer("a", true), DisableServer("b", true)}, "mcp_servers:\n  a:\n    command: x # c\n    disabled: true\n  b: {command: y, disabled: true}\n"},
		{"switched on", "mcp_servers:\n  a:\n    disabled: true # flaky\n    command: x # c\n  b: {disabled: true, command: y}\n", []Edit{DisableServer("a", false), DisableServer("b", false)}, "mcp_servers:\n  a:\n    disabled: false # flaky\n    command: x # c\n  b: {disabled: false, command: y}\n"},
		{"as it was", "mcp_servers: {a: {command: x}}", []Edit{DisableServer("a", false)}, "mcp_servers: {a: {command: x}}"},
		{"over a merge key", "mcp_servers:\n  a: &a {command: x, disabled: true}\n  b:\n    <<: *a\n", []Edit{DisableServer("b", false)}, "mcp_servers:\n  a: &a {command: x, disabled: true}\n  b:\n    <<: *a\n    disabled: false\n"},

		{
			"a change", "mcp_servers:\n  a: # mine\n    # what\n    command: x # c\n    args: # many\n      - one\n    env: # e\n      A: b # of A\n      TOKEN: c\n    start: session # early\n",
			[]Edit{PutServer("a", func() MCPServer { s := withEnv; s.Start = "session"; return s }())},
			"mcp_servers:\n  a: # mine\n    # what\n    command: npx # c\n    args: [\"-y\", \"p\"]\n    env: # e\n      TOKEN: \"${env:TOKEN}\"\n      LEVEL: \"1\"\n    start: session # early\n",
		},
		{
			"into another kind", "mcp_servers:\n  a:\n    command: x\n  b: {command: y}\n",
			[]Edit{PutServer("a", MCPServer{URL: NewURL("http://localhost:1/mcp")}), PutServer("b", MCPServer{URL: NewURL("http://localhost:2/mcp")})},
			"mcp_servers:\n  a:\n    url: \"http://localhost:1/mcp\"\n  b: {url: \"http://localhost:2/mcp\"}\n",
		},
		{"of what stands deeper", "mcp_servers:\n  a:\n    url: https://x.example.com/mcp\n    oauth: # o\n      client_id: x # c\n      scopes: [a]\n", []Edit{PutServer("a", oauth("y"))}, "mcp_servers:\n  a:\n    url: https://x.example.com/mcp\n    oauth: # o\n      client_id: \"y\" # c\n      client_secret: s\n      redirect_port: 8080\n"},
		{"a login", "", []Edit{AddServer("a", oauth("x"))}, "mcp_servers:\n  a:\n    url: \"https://x.example.com/mcp\"\n    oauth:\n      client_id: x\n      client_secret: s\n      redirect_port: 8080\n"},
		{"of what was wrong", "mcp_servers:\n  a:\n    comand: x\n  b: {command: y}\n", []Edit{PutServer("a", npx())}, "mcp_servers:\n  a:\n    command: npx\n  b: {command: y}\n"},
		{"of an alias", "mcp_servers:\n  a: &a {command: x}\n  b: *a\n", []Edit{PutServer("b", npx())}, "mcp_servers:\n  a: &a {command: x}\n  b:\n    command: npx\n"},
	} {
		got, err := Apply("config.yaml", []byte(c.in), nil, c.edits...)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
}

func TestRefusedEdits(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, c := range []struct {
		in   string
		edit Edit
		want string
	}{
		{"mcp_servers: {a: {command: x}}\n", AddServer("a", npx()), "config.yaml:1:15: mcp_servers.a: is there already"},
		{"mcp_servers: {files: {command: x}}\n", DropServer("file"), `config.yaml: mcp_servers.file: is not in this file; did you mean "files"?`},
		{"mcp_servers: {files: {command: x}}\n", DisableServer("x", true), "config.yaml: mcp_servers.x: is not in this file"},
		{"", AddServer("a b", npx()), "a name is 1 to 64 letters"},
		{"", AddServer(long, npx()), "a name is 1 to 64 letters"},
		{"", AddServer("a", MCPServer{}), "config.yaml: mcp_servers.a: needs command or url"},
		{"", AddServer("a", MCPServer{URL: NewURL("x")}), "config.yaml: mcp_servers.a.url: must be an absolute http or https URL"},
		{"", AddServer("a", npx("\xff")), "mcp_servers.a: cannot be written as it is wanted"},
		{"", AddServer("native", npx()), "config.yaml: mcp_servers.native: the name is taken by dragoman's own tools"},
		{"a: [\n", AddServer("a", npx()), "config.yaml:1:4: "},
		{"# c\r\n\r\nmodle: groq/x\r\n", AddServer("a", npx()), `config.yaml:3:1: modle: unknown key; did you mean "model"?`},
		{"model: x/y\nmcp_servers: {a: {command: z}}", DropServer("a"), "config.yaml:1:8: model: provider \"x\" is neither"},
		{"# a\r\n# b\r ", AddServer("a", npx()), "config.yaml:2:4: a line ends with a carriage return alone"},
		{"[]", AddServer("a", npx()), "config.yaml: mcp_servers.a: cannot be changed without changing something else"},
		{"mcp_servers:\n  a: &a {command: x}\n  b: *a\n", DropServer("a"), "config.yaml:2:3: mcp_servers.a: cannot be changed without"},
		{"mcp_servers:\n  a: &a {command: x}\n  b: *a\n", DisableServer("a", true), "mcp_servers.a: cannot be changed without"},
		{"mcp_servers:\n  a: &a {command: x}\n  b: *a\n", DisableServer("b", true), "mcp_servers.b.disabled: stands in an alias (*)"},
		{"x: &s {a: {command: x}}\nmcp_servers: {<<: *s}\n", DropServer("a"), "comes from a merge key (<<)"},
		{"mcp_servers: {a: {command: x}}\n---\nmodel: groq/x\n", DropServer("a"), "config.yaml:3:6: a second document starts here"},
	} {
		got, err := Apply("config.yaml", []byte(c.in), nil, c.edit)
		if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
			t.Errorf("%q: %v, want %s\n%s", c.in, err, c.want, got)
		}
	}
}

func TestPlainSecrets(t *testing.T) {
	s := npx("--api-key", "abc", "--token=def", "--token=${env:T}", "--auth", "${env:A}", "--auth", "-x", "--key-file=", "keys.txt")
	s.Env = map[string]Secret{"GITHUB_TOKEN": NewSecret("ghp_x"), "LEVEL": NewSecret("warn"), "MY_KEY": NewSecret("${env:K}")}
	s.Headers = map[string]Secret{"Authorization": NewSecret("Bearer xyz"), "X-Api-Key": NewSecret("Bearer ${env:K}")}
	s.URL, s.OAuth.ClientSecret = NewURL("https://x.example.com/mcp?apikey=1"), NewSecret("shh")
	if got, want := strings.Join(s.PlainSecrets(), " "), "env.GITHUB_TOKEN headers.Authorization oauth.client_secret args[1] args[2] url"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, c := range []struct {
		server MCPServer
		want   string
	}{
		{MCPServer{Env: map[string]Secret{"KEY": NewSecret("x"), "AUTHOR": NewSecret("x"), "TOKENIZER": NewSecret("x"), "CACHE_KEY": NewSecret("x")}}, "env.KEY"},
		{MCPServer{URL: NewURL("https://x.example.com/mcp?a=b&key=1")}, "url"},
		{MCPServer{URL: NewURL("https://x.example.com/mcp?keyword=token")}, ""},
		{npx("--key", "abc", "--keyboard", "us", "--author=me"), "args[1]"},
	} {
		if got := strings.Join(c.server.PlainSecrets(), " "); got != c.want {
			t.Errorf("%v: got %s, want %s", c.server, got, c.want)
		}
	}
	shown := ShowServers(map[string]MCPServer{"a": s})
	for _, secret := range []string{"ghp_x", "xyz", "apikey=1", "shh"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%s is shown in\n%s", secret, shown)
		}
	}
	if !strings.HasPrefix(shown, "mcp_servers:\n  a:\n    command: npx\n") || !strings.Contains(shown, `MY_KEY: "${env:K}"`) {
		t.Errorf("shown as\n%s", shown)
	}
}

// Of any file, an edit keeps every line that is not the entry's, and what a second
// edit takes back is as it was.
func FuzzApply(f *testing.F) {
	for _, text := range []string{
		"", "mcp_servers: # c\n", "mcp_servers: {}", "mcp_servers: {a: {command: x}}\r\n", "{\"mcp_servers\": {\"a\": {\"command\": \"x\"}}}",
		"mcp_servers:\n  a: &a {command: x}\n  c:\n    <<: *a # c\n\n# d\nmodel: groq/x", "mcp_servers:\n  a:\n    command: |-\n      x\n    disabled: true\n  # b\n  \"c\": {command: 'y # z'}\n",
		"---\nagents:\n  a:\n    description: |+\n      x\n\n\n...\n", "? mcp_servers\n: a: {command: x}\n", "mcp_servers: {\n  a: {command: x}, # a\n  c: {command: y},\n}\n",
	} {
		f.Add([]byte(text))
	}
	s := npx("-y", "p")
	s.Env = map[string]Secret{"A": NewSecret("b")}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("hangs: %q", text)) }).Stop()
		was, problems := decodeFile("config.yaml", text, true)
		added, err := Apply("config.yaml", text, nil, AddServer("new", s))
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if len(problems) > 0 && bytes.Contains(text, []byte("<<")) {
			return // to the library a merge key that stands alone is none
		}
		if len(problems) > 0 {
			t.Fatalf("was wrong: %v", problems)
		}
		keepsLines(t, text, added)
		if json.Valid(bytes.TrimSpace(text)) && !json.Valid(added) {
			t.Errorf("JSON became\n%s", added)
		}
		now, problems := decodeFile("config.yaml", added, true)
		if len(problems) > 0 || now.server("new") == nil || len(now.MCPServers) != len(was.MCPServers)+1 {
			t.Fatalf("%v\n%s\nbecame\n%s", problems, text, added)
		}
		again, err := Apply("config.yaml", added, nil, DropServer("new"))
		if err != nil {
			t.Fatalf("%v\n%s", err, added)
		}
		back, problems := decodeFile("config.yaml", again, true)
		if len(problems) > 0 || !maps.Equal(writtenIn(*was), writtenIn(*back)) {
			t.Errorf("%v\n%s\nbecame\n%s", problems, text, again)
		}
		for _, name := range slices.Sorted(maps.Keys(was.MCPServers)) {
			for _, e := range []Edit{DropServer(name), DisableServer(name, true), DisableServer(name, false), PutServer(name, s)} {
				if _, err := Apply("config.yaml", added, nil, e); err != nil && !strings.Contains(err.Error(), name) {
					t.Errorf("%s: %v\n%s", name, err, added)
				}
			}
		}
	})
}

// keepsLines fails unless a text holds all the lines of another one, in their order,
// but for signs that join what is in braces.
func keepsLines(t *testing.T, was, is []byte) {
	t.Helper()
	signs := func(s []byte) string {
		s = bytes.TrimSpace(s)
		s = bytes.TrimSuffix(s, []byte("null"))
		return strings.NewReplacer("~", "", "{", "", "}", "", ",", "", " ", "", "\t", "").Replace(string(s))
	}
	rest := signs(bytes.ReplaceAll(is, []byte("\n"), nil))
	for line := range bytes.Lines(was) {
		i := strings.Index(rest, signs(line))
		if i < 0 {
			t.Fatalf("%q is lost of\n%s\nin\n%s", line, was, is)
		}
		rest = rest[i:]
	}
}
