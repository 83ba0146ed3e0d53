package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func environment(pairs ...string) Env {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestMask(t *testing.T) {
	for raw, want := range map[string]string{
		"":                     "",
		"hunter2":              "***",
		"${env:KEY}":           "${env:KEY}",
		"${file:~/k}":          "${file:~/k}",
		"Bearer ${env:KEY}":    "Bearer ${env:KEY}",
		"Bearer hunter2":       "***",
		"hunter2 ${env:KEY}":   "***${env:KEY}",
		"${env:A}hun${env:B}":  "${env:A}***${env:B}",
		"${env:KEY":            "***",
		"$${env:KEY}":          "***",
		"hunter2$${${env:KEY}": "***${env:KEY}",
	} {
		if got := NewSecret(raw).String(); got != want {
			t.Errorf("%q shows as %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		"http://localhost:1/v1":         "http://localhost:1/v1",
		"https://a:b@example.com/x@y":   "https://***@example.com/x@y",
		"https://example.com/x?key=abc": "https://example.com/x?***",
		"https://e.com/x?${env:QUERY}":  "https://e.com/x?${env:QUERY}",
		"a:b@example.com":               "***@example.com",
		"https://${env:U}@example.com":  "https://${env:U}@example.com",
	} {
		if got := NewURL(raw).String(); got != want {
			t.Errorf("%q shows as %q, want %q", raw, got, want)
		}
	}
}

// A secret is never printed, whatever prints it or contains it.
func TestSecretsDoNotPrint(t *testing.T) {
	c, err := read("config.yaml", []byte(`
providers:
  local:
    base_url: http://localhost/v1?q=canary
    api_key: canary
    headers: {Authorization: "Bearer canary"}
mcp_servers:
  web: {url: "https://example.com/?canary", headers: {X-A: canary}}
  run: {command: x, env: {A: canary}}
`))
	if err != nil {
		t.Fatal(err)
	}
	p := c.Providers["local"]
	values := map[string]any{
		"secret": p.APIKey, "pointer": &p.APIKey, "url": p.BaseURL, "provider": p, "map": c.Providers,
		"server": c.MCPServers, "slice": []Secret{p.APIKey}, "config": c, "value": *c,
	}
	check := func(how, out string) {
		if strings.Contains(out, "canary") || strings.Contains(out, fmt.Sprintf("%x", "canary")) || strings.Contains(out, fmt.Sprintf("%X", "canary")) {
			t.Errorf("%s shows a secret: %s", how, out)
		}
	}
	for name, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%p", "%T", "%10.2v"} {
			check(name+" "+verb, fmt.Sprintf(verb, v))
		}
		if out, err := json.Marshal(v); err != nil {
			t.Error(err)
		} else {
			check(name+" JSON", string(out))
		}
		if out, err := yaml.Marshal(v); err != nil {
			t.Error(err)
		} else {
			check(name+" YAML", string(out))
		}
		var buf bytes.Buffer
		for _, encoder := range []zapcore.Encoder{
			zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()),
			zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig()),
		} {
			log := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&buf), zap.DebugLevel))
			log.Info("x", zap.Any("any", v), zap.Reflect("reflect", v))
			log.Sugar().Infow("x", "v", v)
		}
		check(name+" zap", buf.String())
	}
	check("Marshal", string(Marshal(c)))
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"key": "from-file\r\n\n", "home/key": "from-home", "crlf": "a\r\nb\r\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, make([]byte, maxReferenced+1), 0o600); err != nil {
		t.Fatal(err)
	}
	env := environment("KEY", "from-env", "EMPTY", "", "HOME", home, "USERPROFILE", home)
	file := filepath.Join(dir, "config.yaml")
	for _, tt := range []struct{ raw, want, wrong string }{
		{raw: "plain", want: "plain"},
		{raw: "${env:KEY}", want: "from-env"},
		{raw: "a${env:KEY}b${env:KEY}", want: "afrom-envbfrom-env"},
		{raw: "[${env:EMPTY}]", want: "[]"},
		{raw: "$${env:KEY} costs $5 {}", want: "${env:KEY} costs $5 {}"},
		{raw: "${file:key}", want: "from-file"},
		{raw: "${file:./key}", want: "from-file"},
		{raw: "${file:~/key}", want: "from-home"},
		{raw: "${file:" + filepath.Join(dir, "key") + "}", want: "from-file"},
		{raw: "${file:crlf}", want: "a\r\nb"},
		{raw: "${env:NONE}", wrong: "environment variable NONE is not set; set it where dragoman is started"},
		{raw: "${file:none}", wrong: "cannot read " + filepath.Join(dir, "none")},
		{raw: "${file:home}", wrong: "not a regular file"},
		{raw: "${file:big}", wrong: "larger than 1024 KiB"},
	} {
		c, err := read(file, []byte("model: a/b\nproviders:\n  a:\n    base_url: http://localhost\n    api_key: "+quoted(tt.raw)+"\n"))
		if err != nil {
			t.Errorf("%s: %v", tt.raw, err)
			continue
		}
		got, err := c.Providers["a"].APIKey.Resolve(env)
		if tt.wrong == "" {
			if err != nil || got != tt.want {
				t.Errorf("%s is %q, %v; want %q", tt.raw, got, err, tt.want)
			}
			continue
		}
		prefix := file + ":5:14: providers.a.api_key: "
		if err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: got %v, want %s…%s", tt.raw, err, prefix, tt.wrong)
		}
	}
	if _, err := NewSecret("${file:~/x}").Resolve(nil); err == nil || !strings.Contains(err.Error(), "home directory is not known") {
		t.Errorf("without a home: %v", err)
	}
	if _, err := NewURL("${env:KEY}").Resolve(env); err == nil || !strings.Contains(err.Error(), "absolute http or https URL") {
		t.Errorf("an address that is none: %v", err)
	}
	for raw, want := range map[string]string{"~/x": filepath.Join(home, "x"), "": "", "/a/b": "/a/b", "logs/x": filepath.Join(dir, "logs", "x"), "${env:HOME}/y": home + "/y"} {
		c, err := read(file, []byte("log: {file: "+quoted(raw)+"}"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Log.File.ResolvePath(env); err != nil || got != want {
			t.Errorf("path %q is %q, %v; want %q", raw, got, err, want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for s, want := range map[string]string{"1h": "1h", "60m": "1h", "90m": "1h30m", "90s": "1m30s", "10m": "10m", "1h0m5s": "1h0m5s", "20s": "20s", "0s": "0s", "24h": "24h", "36h": "36h", "90d": "90d", "2160h": "90d", "1d12h": "36h", "100ms": "100ms", "10h10s": "10h0m10s"} {
		d, err := ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := formatDuration(d); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for _, s := range []string{"", "d", "-1d", "1d-1h", "1d+1h", "1.5d", "1d 2h", "2h1d", "1dd", "106752d", "4294967296d", "106751d100h", "1e3d", " 1d"} {
		if d, err := ParseDuration(s); err == nil {
			t.Errorf("%q is %v", s, d)
		}
	}
	if d, err := ParseDuration("106751d"); err != nil || d != 106751*24*time.Hour {
		t.Errorf("%v, %v", d, err)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	c, err := read(filepath.Join(dir, "config.yaml"), []byte(`
model: groq/x
providers:
  groq: {api_key: "${file:keys/groq}", headers: {X-A: "${env:A} ${file:a}"}}
agents:
  one: {instructions: "${file:keys/groq} $${file:no}"}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Files(nil), []string{filepath.Join(dir, "a"), filepath.Join(dir, "keys", "groq")}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Some services put a key into the path of an address.
func TestKeysInPathsAreHidden(t *testing.T) {
	for raw, want := range map[string]string{
		"https://mcp.example.com/mcp": "https://mcp.example.com/mcp", "https://api.openai.com/v1beta1/chat-completions": "https://api.openai.com/v1beta1/chat-completions",
		"https://a.example/api/mcp/s/ZmFrZS10b2tlbi0xMjM0NTY3ODkw/mcp":   "https://a.example/api/mcp/s/***/mcp",
		"https://a.example/550e8400-e29b-41d4-a716-446655440000/sse?k=v": "https://a.example/***/sse?***",
		"https://a.example/u/hQwErTyUiOpAsDfGhJk":                        "https://a.example/u/***",
		"https://a.example/sk_live_abcdef123456":                         "https://a.example/***",
		"https://a.example/deployments/gpt-4o-2024-08-06":                "https://a.example/deployments/gpt-4o-2024-08-06",
		"https://a.example/${env:TOKEN_12345678}/x":                      "https://a.example/${env:TOKEN_12345678}/x",
		"https://a.example/modelContextProtocol/getStarted":              "https://a.example/modelContextProtocol/getStarted",
	} {
		if got := NewURL(raw).String(); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}
