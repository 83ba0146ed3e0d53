package configs

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // past the umask
		t.Fatal(err)
	}
}

func TestLoadWithoutFile(t *testing.T) {
	for _, o := range []Options{{}, {ConfigDir: t.TempDir()}, {Env: environment("HOME", t.TempDir())}} {
		c, err := Load(o)
		if err != nil || !reflect.DeepEqual(c, Defaults()) {
			t.Errorf("%+v: %+v, %v", o, c, err)
		}
	}
	path := filepath.Join(t.TempDir(), "none.yaml")
	c, err := Load(Options{Path: path})
	if err == nil || err.Error() != path+": no such file" {
		t.Errorf("a file that was asked for: %v", err)
	}
	if c == nil || c.Limits.MaxTurnRequests != 200 || c.Source != path {
		t.Errorf("with an error: %+v", c)
	}
	if _, err := Load(Options{Path: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "it is a directory") {
		t.Errorf("a directory: %v", err)
	}
}

func TestLoadUserFile(t *testing.T) {
	home := t.TempDir()
	env := environment("XDG_CONFIG_HOME", home)
	path := filepath.Join(home, "dragoman", "config.yaml")
	if got := UserFile(env); got != path {
		t.Errorf("user file %s, want %s", got, path)
	}
	write(t, filepath.Join(home, "dragoman", "config.yml"), "", 0o600)
	c, err := Load(Options{Env: env})
	if err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].String(), "config.yml: is not read") {
		t.Errorf("config.yml: %v %v", err, c.Warnings)
	}
	write(t, path, "\ufeffmodel: openai/x\r\nlog:\r\n  level: debug\r\n", 0o600)
	c, err = Load(Options{Env: env})
	if err != nil || c.Source != path || c.Model != "openai/x" || c.Log.Level != "debug" || len(c.Warnings) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if at, ok := c.Where("log.level"); !ok || at.String() != path+":3:10" {
		t.Errorf("log.level is at %v, %v", at, ok)
	}
	if at, ok := c.Where("policy.default"); ok {
		t.Errorf("a default is at %v", at)
	}
	// An explicit file replaces the user's file; it is not added to it.
	other := filepath.Join(home, "other.yaml")
	write(t, other, "", 0o600)
	if c, err = Load(Options{Path: other, Env: env}); err != nil || c.Model != "" || c.Source != other {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestLoadReportsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, "modle: x\nlog: {level: loud}\nagents: {a: {model: b}}\n", 0o600)
	c, err := Load(Options{Path: path})
	var all *Error
	if !errors.As(err, &all) || len(all.Problems) != 3 || c.Log.Level != "warn" {
		t.Errorf("%v", err)
	}
	for i, p := range all.Problems {
		if p.File != path || p.Line != i+1 {
			t.Errorf("problem %d is at %v", i, p.Position)
		}
	}
}

func TestLiteralKeyThatOthersCanRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode")
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	for _, tt := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{"providers: {openai: {api_key: sk-1}}", 0o600, ""},
		{"providers: {openai: {api_key: sk-1}}", 0o640, ":1:31: providers.openai.api_key: the key is written out in a file that other users can read; run chmod 600 "},
		{"providers: {openai: {api_key: '${env:K}'}}", 0o644, ""},
		{"providers: {openai: {headers: {X-Title: x}}}", 0o644, ""},
		{"providers: {openai: {headers: {Authorization: Bearer x}}}", 0o644, ":1:47: providers.openai.headers.Authorization: "},
		{"mcp_servers: {a: {command: x, env: {LOG: x, GITHUB_TOKEN: y}}}", 0o644, ":1:59: mcp_servers.a.env.GITHUB_TOKEN: "},
	} {
		write(t, path, tt.text, tt.mode)
		c, err := Load(Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(c.Warnings) > 0 {
			got = c.Warnings[0].String()
		}
		if (tt.want == "") != (got == "") || !strings.HasPrefix(got, path+tt.want) && got != "" {
			t.Errorf("%s with %v: %q", tt.text, tt.mode, got)
		}
		// A layer above keeps it.
		if again, _ := Resolve(c, nil, &Config{Model: "openai/x"}); len(again.Warnings) != len(c.Warnings) {
			t.Errorf("%s: after a merge: %v", tt.text, again.Warnings)
		}
	}
}

func TestWorkspaceFile(t *testing.T) {
	root := t.TempDir()
	want := filepath.Join(root, ".dragoman", "config.yaml")
	if path, exists := WorkspaceFile(root); path != want || exists {
		t.Errorf("%s, %v", path, exists)
	}
	write(t, want, "model: [", 0o600)
	if path, exists := WorkspaceFile(root); path != want || !exists {
		t.Errorf("%s, %v", path, exists)
	}
}

func TestUserFilePerPlatform(t *testing.T) {
	if got := UserFile(nil); got != "" {
		t.Errorf("without an environment: %s", got)
	}
	want := map[string]string{
		"linux":  "/h/.config/dragoman/config.yaml",
		"darwin": "/h/Library/Application Support/dragoman/config.yaml",
	}[runtime.GOOS]
	if want == "" {
		t.Skip("no expectation for " + runtime.GOOS)
	}
	// A relative XDG_CONFIG_HOME is ignored, as its specification says.
	for _, env := range []Env{environment("HOME", "/h"), environment("HOME", "/h", "XDG_CONFIG_HOME", "rel"), environment("HOME", "/h", "XDG_CONFIG_HOME", "")} {
		if got := UserFile(env); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
