package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
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
		URL: NewURL("https://x.example.com/mcp"), Headers: map[string]Secret{"Authorization": NewSecret("Bearer ${T}")}, Transport: "sse",
		Disabled: true, Tools: []string{"a*"}, StartTimeout: 2 * time.Minute, CallTimeout: 10 * time.Minute,
	}
	inDir := withEnv
	inDir.Dir = NewValue("/d")
	const one = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"npx\"\n    }\n  }\n}\n"
	for _, c := range []struct {
		name, in string
		edits    []Edit
		want     string
	}{
		{"an empty file", "", []Edit{AddServer("a", npx("-y", "p"))}, "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"p\"]\n    }\n  }\n}\n"},
		{"comments only", "// one\n// two", []Edit{AddServer("a", npx())}, "// one\n// two\n" + one},
		{"a byte order mark", "\ufeff", []Edit{AddServer("a", npx())}, "\ufeff" + one},
		{"empty braces", "{}\n", []Edit{AddServer("a", npx())}, one},
		{"all settings", "{}\n", []Edit{AddServer("a", full), AddServer("b", inDir)}, `{
  "mcpServers": {
    "a": {
      "type": "sse",
      "url": "https://x.example.com/mcp",
      "headers": {
        "Authorization": "Bearer ${T}"
      },
      "disabled": true,
      "tools": ["a*"],
      "start_timeout": "2m"
    },
    "b": {
      "command": "npx",
      "args": ["-y", "p"],
      "env": {
        "LEVEL": "1",
        "TOKEN": "${env:TOKEN}"
      },
      "cwd": "/d"
    }
  }
}
`},
		{"no servers yet", "{\n\t\"inputs\": [] // theirs\n}", []Edit{AddServer("a", npx())}, "{\n\t\"inputs\": [], // theirs\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"npx\"\n\t\t}\n\t}\n}"},
		{"a member with nothing", "{\n  \"mcpServers\": null, // mine\n  \"x\": 1\n}\n", []Edit{AddServer("a", npx())}, "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"npx\"\n    }\n  }, // mine\n  \"x\": 1\n}\n"},
		{"empty braces with a comment", "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n", []Edit{AddServer("a", npx())}, "{\n  \"mcpServers\": {\n    // none yet\n    \"a\": {\n      \"command\": \"npx\"\n    }\n  }\n}\n"},
		{
			"behind others", "{\n    \"mcpServers\": {\n        \"a\": { // first\n            \"command\": \"x\"\n        } // of a\n        // the end\n    }\n}\n",
			[]Edit{AddServer("b", npx("y"))},
			"{\n    \"mcpServers\": {\n        \"a\": { // first\n            \"command\": \"x\"\n        }, // of a\n        // the end\n        \"b\": {\n            \"command\": \"npx\",\n            \"args\": [\"y\"]\n        }\n    }\n}\n",
		},
		{"a trailing comma", "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"}, // c\n}}", []Edit{AddServer("b", npx())}, "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"}, // c\n  \"b\": {\n    \"command\": \"npx\"\n  },\n}}"},
		{"CRLF", "{\r\n  \"mcpServers\": {\r\n    \"a\": {\"command\": \"x\"}\r\n  }\r\n}\r\n", []Edit{AddServer("b", npx())}, "{\r\n  \"mcpServers\": {\r\n    \"a\": {\"command\": \"x\"},\r\n    \"b\": {\r\n      \"command\": \"npx\"\r\n    }\r\n  }\r\n}\r\n"},
		{"one line", `{"mcpServers": {"a": {"command": "x"}}}`, []Edit{AddServer("b", npx("y"))}, `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "npx", "args": ["y"]}}}`},
		{"one line and a comma", `{"mcpServers": {"a": {"command": "x"}, }}`, []Edit{AddServer("b", npx())}, `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "npx"}, }}`},
		{"comments in one line", `{"mcpServers": {"a": {"command": "x"} /* of a */}}`, []Edit{AddServer("b", npx())}, `{"mcpServers": {"a": {"command": "x"}, /* of a */ "b": {"command": "npx"}}}`},

		{"the first one goes", "{\"mcpServers\": {\n  // a\n  \"a\": {\n    \"command\": \"x\"\n  }, // of a\n  // b\n  \"b\": {\"command\": \"y\"}\n}}", []Edit{DropServer("a")}, "{\"mcpServers\": {\n  // a\n  // of a\n  // b\n  \"b\": {\"command\": \"y\"}\n}}"},
		{"the last one goes", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"},\n    \"b\": {\"command\": \"y\"}\n  }\n}\n", []Edit{DropServer("b")}, "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n"},
		{"the last one with a comma", "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n  \"b\": {\"command\": \"y\"},\n}}", []Edit{DropServer("b")}, "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n}}"},
		{"the only one goes", one, []Edit{DropServer("a")}, "{\n  \"mcpServers\": {\n  }\n}\n"},
		{"in one line", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "c": {"command": "z"}}}`, []Edit{DropServer("b")}, `{"mcpServers": {"a": {"command": "x"}, "c": {"command": "z"}}}`},
		{"the last one in one line", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`, []Edit{DropServer("b")}, `{"mcpServers": {"a": {"command": "x"}}}`},
		{"the only one in one line", `{"mcpServers": {"a": {"command": "x"}}}`, []Edit{DropServer("a")}, `{"mcpServers": {}}`},
		{"a comment in front of a comma", `{"mcpServers": {"a": {"command": "x"} /* a */, "b": {"command": "y"}}}`, []Edit{DropServer("a")}, `{"mcpServers": {/* a */ "b": {"command": "y"}}}`},
		{"a comment behind a comma", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}, // a\n\"b\": {\"command\": \"y\"}}}", []Edit{DropServer("b")}, "{\"mcpServers\": {\"a\": {\"command\": \"x\"} // a\n}}"},
		{"a wrong one", "{\"mcpServers\": {\n  \"a\": {\"comand\": \"x\"},\n  \"b\": {\"command\": \"y\"}\n}}", []Edit{DropServer("a")}, "{\"mcpServers\": {\n  \"b\": {\"command\": \"y\"}\n}}"},
		{"by its name here", `{"mcpServers": {"My Files": {"command": "x"}}}`, []Edit{DisableServer("My-Files", true)}, `{"mcpServers": {"My Files": {"command": "x", "disabled": true}}}`},

		{"switched off", "{\"mcpServers\": {\n  \"a\": {\n    \"command\": \"x\" // c\n  },\n  \"b\": {\"command\": \"y\"}\n}}", []Edit{DisableServer("a", true), DisableServer("b", true)}, "{\"mcpServers\": {\n  \"a\": {\n    \"command\": \"x\", // c\n    \"disabled\": true\n  },\n  \"b\": {\"command\": \"y\", \"disabled\": true}\n}}"},
		{"switched on", `{"mcpServers": {"a": {"disabled": true /* flaky */, "command": "x"}, "b": {"enabled": false, "command": "y"}}}`, []Edit{DisableServer("a", false), DisableServer("b", false)}, `{"mcpServers": {"a": {/* flaky */ "command": "x"}, "b": {"enabled": true, "command": "y"}}}`},
		{"as it was", `{"mcpServers": {"a": {"command": "x"}}}`, []Edit{DisableServer("a", false)}, `{"mcpServers": {"a": {"command": "x"}}}`},
		{"a wrong one is switched off", `{"mcpServers": {"a": {}}}`, []Edit{DisableServer("a", true)}, "{\"mcpServers\": {\"a\": {\n  \"disabled\": true\n}}}"},
		{"of the YAML", one, []Edit{DisableServer("yaml", true), DisableServer("other", true), DisableServer("yaml", true)}, strings.TrimSuffix(one, "\n}\n") + ",\n  \"disabled\": [\"yaml\", \"other\"]\n}\n"},
		{"of the YAML, the first", "", []Edit{DisableServer("yaml", true)}, "{\n  \"disabled\": [\"yaml\"]\n}\n"},
		{"of the YAML, and on again", "{\"disabled\": [\"other\", \"yaml\", \"yaml\"]}", []Edit{DisableServer("yaml", false)}, "{\"disabled\": [\"other\"]}"},
		{"of the YAML, the last", "{\"x\": 1, \"disabled\": [\"yaml\"]}", []Edit{DisableServer("yaml", false)}, "{\"x\": 1}"},
		{"of the YAML, the last with a comment", "{\"disabled\": [\"yaml\" /* flaky */]}", []Edit{DisableServer("yaml", false)}, "{\"disabled\": [ /* flaky */]}"},
		{"on the list, and on again", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}, \"disabled\": [\"a\", \"b\"]}", []Edit{DisableServer("a", false)}, "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}, \"disabled\": [\"b\"]}"},
		{"on the list, and away", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}, \"disabled\": [\"a\", \"b\"]}", []Edit{DropServer("a")}, "{\"mcpServers\": {}, \"disabled\": [\"b\"]}"},
		{"off in the YAML already", "", []Edit{DisableServer("off", true)}, ""},

		{
			"a change", "{\"mcpServers\": {\n  // mine\n  \"a\": { // what\n    \"command\": \"x\", // c\n    \"args\": [ // many\n      \"one\",\n    ],\n    \"env\": { // e\n      \"A\": \"b\", // of A\n      \"TOKEN\": \"c\"\n    },\n    \"alwaysAllow\": [\"x\"], // theirs\n    \"start\": \"session\", // early\n  },\n}}",
			[]Edit{PutServer("a", func() MCPServer { s := withEnv; s.Start = "session"; return s }())},
			"{\"mcpServers\": {\n  // mine\n  \"a\": { // what\n    \"command\": \"npx\", // c\n    \"args\": [\"-y\", \"p\"],\n    \"env\": { // e\n      // of A\n      \"TOKEN\": \"${env:TOKEN}\",\n      \"LEVEL\": \"1\"\n    },\n    \"alwaysAllow\": [\"x\"], // theirs\n    \"start\": \"session\", // early\n  },\n}}",
		},
		{"under their names", `{"mcpServers": {"a": {"command": "npx", "args": ["-y", "p"], "environment": {"LEVEL": 1, "TOKEN": "x"}, "cwd": "/c"}}}`, []Edit{PutServer("a", inDir)}, `{"mcpServers": {"a": {"command": "npx", "args": ["-y", "p"], "environment": {"LEVEL": 1, "TOKEN": "${env:TOKEN}"}, "cwd": "/d"}}}`},
		{
			"into another kind", `{"mcpServers": {"a": {"type": "stdio", "command": "x", "foo": 1}, "b": {"type": "sse", "serverUrl": "https://x.example.com"}, "c": {"command": "z"}}}`,
			[]Edit{PutServer("a", MCPServer{URL: NewURL("http://localhost:1/mcp")}), PutServer("b", npx()), PutServer("c", MCPServer{URL: NewURL("http://localhost:2/sse")})},
			`{"mcpServers": {"a": {"type": "http", "foo": 1, "url": "http://localhost:1/mcp"}, "b": {"command": "npx"}, "c": {"url": "http://localhost:2/sse", "type": "http"}}}`,
		},
		{"the same address", `{"mcpServers": {"a": {"type": "streamable-http", "serverUrl": "http://localhost:1/mcp"}}}`, []Edit{PutServer("a", MCPServer{URL: NewURL("http://localhost:1/mcp"), Disabled: true})}, `{"mcpServers": {"a": {"type": "streamable-http", "serverUrl": "http://localhost:1/mcp", "disabled": true}}}`},
		{"of what is deeper", "{\"mcpServers\": {\"a\": {\"url\": \"https://x.example.com/mcp\", \"oauth\": {\"clientId\": \"x\", \"scopes\": [\"a\"], \"theirs\": 1}}}}", []Edit{PutServer("a", oauth("y"))}, "{\"mcpServers\": {\"a\": {\"url\": \"https://x.example.com/mcp\", \"oauth\": {\"clientId\": \"y\", \"theirs\": 1, \"client_secret\": \"s\", \"redirect_port\": 8080}}}}"},
		{"a login", "{\"mcpServers\": {\"z\": {\"command\": \"z\"}}}", []Edit{AddServer("a", oauth("x"))}, `{"mcpServers": {"z": {"command": "z"}, "a": {"type": "http", "url": "https://x.example.com/mcp", "oauth": {"client_id": "x", "client_secret": "s", "redirect_port": 8080}}}}`},
		{"of what was wrong", `{"mcpServers": {"a": {"command": 3, "foo": 1}, "b": {"command": "y"}}}`, []Edit{PutServer("a", npx())}, `{"mcpServers": {"a": {"command": "npx", "foo": 1}, "b": {"command": "y"}}}`},
		{"of what is there twice", `{"mcpServers": {"a": {"command": "x", "command": "y"}}}`, []Edit{PutServer("a", npx())}, "{\"mcpServers\": {\"a\": {\n  \"command\": \"npx\"\n}}}"},
	} {
		got, err := Apply("mcp.json", []byte(c.in), besides(t), c.edits...)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
}

// besides returns a configuration with servers.
func besides(t *testing.T) *Config {
	t.Helper()
	c, problems := decodeFile("config.yaml", []byte("mcp_servers:\n  yaml: {command: x}\n  other: {command: y}\n  off: {command: z, disabled: true}\n"), true)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

func TestRefusedEdits(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, c := range []struct {
		in   string
		edit Edit
		want string
	}{
		{`{"mcpServers": {"a": {"command": "x"}}}`, AddServer("a", npx()), "mcp.json:1:17: mcpServers.a: is there already"},
		{`{"mcpServers": {"files": {"command": "x"}}}`, DropServer("file"), `mcp.json: mcpServers.file: is not in this file; did you mean "files"?`},
		{`{"mcpServers": {"files": {"command": "x"}}}`, DisableServer("x", true), "mcp.json: mcpServers.x: is not in this file"},
		{"", AddServer("a b", npx()), "a name is 1 to 64 letters"},
		{"", AddServer(long, npx()), "a name is 1 to 64 letters"},
		{"", AddServer("a", MCPServer{}), "mcp.json: mcpServers.a: needs command or url"},
		{"", AddServer("a", MCPServer{URL: NewURL("x")}), "mcp.json: mcpServers.a.url: must be an absolute http or https URL"},
		{"", AddServer("a", npx("\xff")), "mcpServers.a: cannot be written as it is wanted"},
		{"", AddServer("native", npx()), "mcp.json: mcpServers.native: the name is taken by dragoman's own tools"},
		{"{\n\"a\": ]\n", AddServer("a", npx()), "mcp.json:2:6: "},
		{"{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"a\": {\"command\": \"y\"}}}", DropServer("a"), "cannot be written as it is wanted; edit the file by hand"},
		{"{\"mcpServers\": {}, \"mcpServers\": {}}", AddServer("a", npx()), "mcp.json:1:20: mcpServers: duplicate member"},
		{"[]", AddServer("a", npx()), "mcp.json:1:1: must be an object"},
		{"", AddServer("yaml", npx()), "config.yaml:2:3: mcp_servers.yaml: is configured in this file, which no command changes; edit it by hand"},
		{"", PutServer("yaml", npx()), "config.yaml:2:3: mcp_servers.yaml: is configured in this file"},
		{"", DropServer("yaml"), "config.yaml:2:3: mcp_servers.yaml: is configured in this file"},
		{`{"mcpServers": {"yaml": {"command": "x"}}}`, DropServer("yaml"), "config.yaml:2:3: mcp_servers.yaml: is configured in this file"},
		{"", DropServer("yml"), `mcp.json: mcpServers.yml: is not in this file; did you mean "yaml"?`},
		{"", DisableServer("off", false), "config.yaml:4:31: mcp_servers.off.disabled: is set in this file, which no command changes"},
	} {
		got, err := Apply("mcp.json", []byte(c.in), besides(t), c.edit)
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
	if !strings.HasPrefix(shown, "{\n  \"mcpServers\": {\n    \"a\": {\n      \"type\": \"http\",\n      \"command\": \"npx\",\n") || !strings.Contains(shown, `"MY_KEY": "${env:K}"`) {
		t.Errorf("shown as\n%s", shown)
	}
}

// randomDocument is a document of random pieces, so that every byte that an edit must not change
// is known.
type randomDocument struct {
	head, tail string   // around the lines of the servers
	names      []string // of the servers
	pieces     []string // the text of each, without its comma
	before     []string // comments and empty lines before each
	behind     []string // the rest of the line after the comma
	trailing   bool     // the last one has a comma, too
}

func makeDocument(r *rand.Rand) (m randomDocument) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	step := pick("  ", "    ", "\t")
	m.head = pick("", "// mine\n", "/* mine\n   é 😀 */ ") + "{\n" + pick("", step+"\"inputs\": [{\"a\": \"mcpServers\"}], // theirs\n") + step + "\"mcpServers\": {" + pick("", " // all mine") + "\n"
	m.tail = pick("", step+step+"// the end\n") + step + "}" + pick("", ", \"x\": {\"y\": [null,],}") + "\n}" + pick("", "\n", "\n// \"mcpServers\": {}\n")
	m.trailing = r.IntN(2) == 0
	for i := range 1 + r.IntN(4) {
		name := fmt.Sprintf("s%d", i)
		body := pick(
			"{\"command\": \"x\"}", "{ // c\n__\"command\": \"x y\", // d\n__\"args\": [\"a\", // e\n__\"}\",],\n_}", "{\n__\"url\": \"https://example.com/mcp\",\n__\"headers\": {\n__\"A\": \"b\" /* f */\n__}\n__// g\n_}",
			"{\"command\":\"x\",\"alwaysAllow\":[\"y\"],\"disabled\":false}", "{\n__\"command\": \"x\",\n__\"enabled\": true, // h\n_}",
		)
		body = strings.ReplaceAll(strings.ReplaceAll(body, "__", step+step+step), "_}", step+step+"}")
		m.names = append(m.names, name)
		m.pieces = append(m.pieces, step+step+pick("\""+name+"\"", "\""+name+"\"", "\"\\u0073"+name[1:]+"\"")+pick(": ", ":", " : ")+body)
		m.before = append(m.before, pick("", "", step+step+"// before "+name+"\n", "\n", "/* far left */\n"))
		m.behind = append(m.behind, pick("", "", " // of "+name))
	}
	return m
}

// text returns the document without one of its servers; -1: with all.
func (m randomDocument) text(without int) string {
	var b strings.Builder
	b.WriteString(m.head)
	last := len(m.pieces) - 1
	if without == last {
		last--
	}
	for i, piece := range m.pieces {
		b.WriteString(m.before[i])
		switch comma := i < last || m.trailing; {
		case i == without && m.behind[i] != "": // the comment stays
			b.WriteString(piece[:len(piece)-len(strings.TrimLeft(piece, " \t"))] + strings.TrimLeft(m.behind[i], " ") + "\n")
		case i == without:
		case comma:
			b.WriteString(piece + "," + m.behind[i] + "\n")
		default:
			b.WriteString(piece + m.behind[i] + "\n")
		}
	}
	return b.String() + m.tail
}

// Whatever surrounds an entry, no byte of it changes.
func TestEditsOfManyDocuments(t *testing.T) {
	for seed := range uint64(60) {
		m := makeDocument(rand.New(rand.NewPCG(seed, 0)))
		eol := []string{"\n", "\r\n"}[seed%2]
		in := func(text string) string { return strings.ReplaceAll(text, "\n", eol) }
		text := in(m.text(-1))
		l, problem := serverFile().parse("mcp.json", []byte(text))
		if problem != nil || len(l.entries) != len(m.names) {
			t.Fatalf("seed %d: the document itself is wrong: %v\n%s", seed, problem, text)
		}
		for i, name := range m.names {
			got, err := Apply("mcp.json", []byte(text), nil, DropServer(name))
			if want := in(m.text(i)); err != nil || string(got) != want {
				t.Errorf("seed %d, without %s: %v\n%q\nwant\n%q", seed, name, err, got, want)
			}
			for _, disabled := range []bool{true, false} {
				got, err := Apply("mcp.json", []byte(text), nil, DisableServer(name, disabled))
				from, to := l.entries[i].member.Name.StartOffset, l.entries[i].member.Value.EndOffset
				if err != nil || !strings.HasPrefix(string(got), text[:from]) || !strings.HasSuffix(string(got), text[to:]) || len(got)-len(text) > len("            \"disabled\": false,")+len(eol) {
					t.Errorf("seed %d, %s disabled %v: %v\n%s\nbecame\n%s", seed, name, disabled, err, text, got)
				}
			}
			if again, err := Apply("mcp.json", []byte(text), nil, PutServer(name, l.entries[i].value)); err != nil || string(again) != text {
				t.Errorf("seed %d, %s as it was: %v\n%s\nbecame\n%s", seed, name, err, text, again)
			}
		}
		added, err := Apply("mcp.json", []byte(text), nil, AddServer("new", npx("y")))
		if err != nil || !strings.Contains(string(added), "\"new\": {") || !isWithout(added, []byte(text)) {
			t.Errorf("seed %d, with another: %v\n%s\nbecame\n%s", seed, err, text, added)
		}
	}
}

// In any document that parses, an edit keeps every byte outside of the entry: an addition only
// adds, a removal removes one piece and a comma, and the other servers stay unchanged.
func FuzzApply(f *testing.F) {
	for _, text := range []string{
		"", "// c", "{}", "{\"mcpServers\": {}}", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}\r\n", "{\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"x\", // c\n\t\t},\n\t\t/* d */\n\t},\n} // e",
		"\ufeff{\"mcpServers\": {\"a\": {\"command\": \"x\"} /* a */ , /* b */ \"b\": {\"url\": \"https://x.example.com\"}}, \"disabled\": [\"b\" /* c */, ]}",
		"{ \"mcpServers\" :\n{\"My Files\": {\"command\": \"x\", \"enabled\": false}, \"c\": {}, \"c\": 1 // d\n}}", "{\"x\": [1, {\"y\": null}], \"disabled\": []\n}", "{\"mcpServers\": null}",
	} {
		f.Add([]byte(text))
	}
	s := npx("-y", "p")
	s.Env = map[string]Secret{"A": NewSecret("b")}
	f.Fuzz(func(t *testing.T, text []byte) {
		was, problem := serverFile().parse("mcp.json", text)
		if problem != nil {
			return
		}
		added, err := Apply("mcp.json", text, nil, AddServer("new", s))
		if err != nil {
			if (&listEditor[MCPServer]{entryList: was}).find("new") == nil {
				t.Fatalf("%v\n%q", err, text)
			}
			return
		}
		if o := was.text.Root.Value; o != nil && !isWithout(added, text) && !bytes.Contains(text, []byte("null")) {
			t.Errorf("%q\nbecame\n%q", text, added)
		}
		if json.Valid(text) && !json.Valid(added) {
			t.Errorf("JSON became\n%s", added)
		}
		again, err := Apply("mcp.json", added, nil, DropServer("new"))
		if err != nil {
			t.Fatalf("%v\n%s", err, added)
		}
		if len(was.entries) > 0 && comments(t, again) != comments(t, text) {
			t.Errorf("%q\nbecame\n%q", text, again)
		}
		for _, listed := range was.entries {
			for i, e := range []Edit{DropServer(listed.name), DisableServer(listed.name, true), DisableServer(listed.name, false), PutServer(listed.name, s)} {
				got, err := Apply("mcp.json", text, nil, e)
				if err != nil {
					if len(listed.problems) == 0 && (i > 0 || len(listed.name) > 0) {
						t.Fatalf("edit %d of %s: %v\n%q", i, listed.name, err, text)
					}
					continue
				}
				from, to := listed.member.Name.StartOffset, listed.member.Value.EndOffset
				outside := slices.Concat(was.text.Data[:from], was.text.Data[to:])
				if a, b := comments(t, got), comments(t, []byte(string(outside))); i == 0 && a != b && !bytes.Contains(text, []byte("disabled")) {
					t.Errorf("edit %d of %s lost a comment: %q, want %q\n%q\nbecame\n%q", i, listed.name, a, b, text, got)
				}
				if json.Valid(text) && !json.Valid(got) {
					t.Errorf("edit %d of %s: JSON became\n%s", i, listed.name, got)
				}
			}
		}
	})
}

// isWithout reports whether a text is another one with pieces taken out.
func isWithout(text, of []byte) bool {
	for _, c := range of {
		i := bytes.IndexByte(text, c)
		if i < 0 {
			return false
		}
		text = text[i+1:]
	}
	return true
}

// comments returns the comments of a text, without the text between them.
func comments(t *testing.T, text []byte) string {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case rest[0] == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(rest, []byte("//")):
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			b.Write(bytes.TrimSpace(line))
			b.WriteByte('\n')
			i += len(line)
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/")) + 4
			b.Write(rest[:end])
			b.WriteByte('\n')
			i += end - 1
		}
	}
	return b.String()
}
