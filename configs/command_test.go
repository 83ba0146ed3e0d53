package configs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCommandWords(t *testing.T) {
	for command, want := range map[string]string{
		"pass":                            "[pass]",
		" pass  show\ta ":                 "[pass show a]",
		`op read "op://a b/key" ''`:       "[op read op://a b/key ]",
		`C:\tools\key.exe a\b`:            `[C:\tools\key.exe a\b]`,
		`a"b c"d 'e "f"'`:                 `[ab cd e "f"]`,
		`echo $HOME | head; rm * > x &`:   "[echo $HOME | head; rm * > x &]",
		"":                                "${cmd:…} names no program",
		`"" a`:                            "${cmd:…} names no program",
		`pass 'show`:                      "a quote of ${cmd:…} is not closed",
		strings.Repeat("x", 99) + " show": "[" + strings.Repeat("x", 99) + " show]",
	} {
		args, err := words(command)
		got := fmt.Sprint(args)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// A program runs only for a secret of the user's own file, and only when the secret is looked up;
// its output is never shown.
func TestCommandsOfOneFile(t *testing.T) {
	var ran []string
	run := func(_ context.Context, dir string, args []string) (string, error) {
		ran = append(ran, filepath.Base(dir)+": "+strings.Join(args, "|"))
		if args[0] == "fails" {
			return "canary", errors.New("it failed")
		}
		return "printed\nmore\n", nil
	}
	home := filepath.Join(t.TempDir(), "cfg")
	path := filepath.Join(home, "config.yaml")
	text := "model: a/x\nproviders:\n  a: {base_url: 'http://localhost/v1', api_key: '${cmd:pass show a}', headers: {X-A: 'Bearer ${cmd:./own.sh}'}}\n  groq: {api_key: '${cmd:fails canary}'}\n"
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if choice := c.ChooseModel(nil, nil); c.CheckKey("a", nil, nil) != nil || len(choice.Places) == 0 || ran != nil {
		t.Errorf("before it is needed: %v", ran)
	}
	if shown := string(Marshal(c)); !strings.Contains(shown, "${cmd:pass show a}") {
		t.Errorf("shown: %s", shown)
	}
	key, err := c.Key(t.Context(), "a", nil, nil, run)
	if key != "printed" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	header, err := c.Providers["a"].Headers["X-A"].ResolveWith(t.Context(), nil, run)
	if header != "Bearer printed" || err != nil {
		t.Errorf("%q, %v", header, err)
	}
	_, err = c.Key(t.Context(), "groq", nil, nil, run)
	if err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "providers.groq.api_key: ${cmd:fails …}: it failed") {
		t.Errorf("%v", err)
	}
	if _, err := c.Providers["a"].APIKey.Resolve(nil); err == nil {
		t.Error("a program ran without anything to run it")
	}
	if want := []string{"cfg: pass|show|a", "cfg: " + filepath.Join(home, "own.sh"), "cfg: fails|canary"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}

	ran = nil
	_, _, err = ParseEditor([]byte(`{"providers": {"a": {"base_url": "http://localhost/v1", "api_key": "${cmd:pass show a}"}}}`))
	if err == nil || !strings.Contains(err.Error(), notOwn) {
		t.Errorf("the editor's: %v", err)
	}
	work, err := Parse("work.yaml", []byte("agents: {code: {instructions: '${cmd:pass}'}}\nproviders: {groq: {api_key: '${cmd:pass}'}}\n"))
	if err == nil {
		t.Error("a workspace's file may have programs run")
	}
	both, _ := Resolve(c, work, nil) //nolint:errcheck // the layer is invalid, but still merged
	if _, err := both.Key(t.Context(), "groq", nil, nil, run); err == nil || !slices.Equal(ran, []string{"cfg: fails|canary"}) {
		t.Errorf("with a workspace: %v, ran %q", err, ran)
	}
}
