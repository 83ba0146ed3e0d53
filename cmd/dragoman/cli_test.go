package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dragoman/cmd/internal/program"
)

func TestExitCodesAndMessages(t *testing.T) {
	p := newPlace(t)
	for _, c := range []struct {
		args      string
		code      int
		out, errs string // expected contents; empty: no output
	}{
		{"--version", 0, "dragoman v0.0.0-test\n", ""},
		{"version", 0, "dragoman v0.0.0-test\ngo1.", ""},
		{"server --version", 0, "dragoman v0.0.0-test\neca v0.0.0-test\n", ""},
		{"eca --version", 0, "dragoman v0.0.0-test\neca v0.0.0-test\n", ""},
		{"help acp", 0, "Agent Client Protocol", ""},
		{"completion bash", 0, "bash completion", ""},
		{"", 2, "", "choose a protocol: dragoman eca, dragoman acp or dragoman mcp"},
		{"acpp", 2, "", `unknown command "acpp"; did you mean "acp"?`},
		{"modls", 2, "", `unknown command "modls"; did you mean "models"?`},
		{"sessions lst", 2, "", `unknown command "lst"; did you mean "list"?`},
		{"frobnicate", 2, "", "dragoman: unknown command \"frobnicate\"\n"},
		{"help modls", 2, "", `unknown command "modls"; did you mean "models"?`},
		{"help sessions lst", 2, "", `unknown command "lst"; did you mean "list"?`},
		{"help sessions list", 0, "most recently used first", ""},
		{"completion", 2, "", "choose a subcommand: bash, fish, powershell or zsh"},
		{"completion bsh", 2, "", `unknown command "bsh"; did you mean "bash"?`},
		{"doctor -x", 2, "", "dragoman: unknown flag: -x\n"},
		{"mcp --no-auth=maybe", 2, "", `--no-auth "maybe": want true or false`},
		{"chat hello", 2, "", "chat takes no prompt; to send a single one: dragoman run 'PROMPT'"},
		{"doctor --log-levl info", 2, "", `unknown flag: --log-levl; did you mean "--log-level"?`},
		{"chat --model", 2, "", "--model needs a value: --model PROVIDER/MODEL"},
		{"chat --model xx", 2, "", `model must be PROVIDER/MODEL, got "xx"`},
		{"mcp-servers logs -n x", 2, "", `--lines "x": want a number`},
		{"mcp-servers logs -n -3", 2, "", "-n takes the number of lines to show"},
		{"acp --no-such-flag", 2, "", "unknown flag: --no-such-flag\nTry \"dragoman acp --help\"."},
		{"acp extra", 2, "", `dragoman acp takes no arguments, got "extra"`},
		{"config", 2, "", "choose a subcommand: path, init, show or schema"},
		{"sessions", 2, "", "choose a subcommand: list, show, export, import, archive, prune, repair or rm"},
		{"sessions show", 2, "", "ID is missing"},
		{"sessions show nothing-like-it", 1, "", `there is no session "nothing-like-it"`},
		{"sessions rm nothing-like-it", 1, "", `there is no session "nothing-like-it"`},
		{"login groq", 1, "", "log in to groq: the key is empty"},
		{"login grok", 1, "", `there is no provider "grok"; did you mean "groq"?`},
		{"login ollama", 1, "", "needs no key"},
		{"login a b", 2, "", `unexpected argument "b"`},
		{"logout", 2, "", "PROVIDER is missing"},
		{"logout groq", 0, "No key is stored for groq.\n", ""},
		{"acp --log-level loud", 2, "", `log level "loud": want debug, info, warn or error`},
		{"doctor --log-level loud", 2, "", `log level "loud": want debug, info, warn or error`},
		{"sessions list --log-level loud", 2, "", `log level "loud"`},
		{"acp --log-file .", 1, "", "open the log file"},
		{"mcp --root no-such-folder", 1, "", "no-such-folder"},
		{"mcp --root notes.txt", 1, "", "notes.txt is not a folder"},
		{"chat --agent nobody", 2, "", `there is no agent "nobody"; there are code, plan`},
		{"sessions repair nothing-like-it", 1, "", `there is no session "nothing-like-it"`},
		{"sessions repair --dry-run nothing-like-it", 1, "", `there is no session "nothing-like-it"`},
		{"chat --session nothing-like-it", 1, "", `there is no session "nothing-like-it"`},
		{"server --log-level error --verbose --config-file none.yaml", 1, "", ""}, // it ends by itself,
	} {
		o := p.run(t, "", strings.Fields(c.args)...)
		if o.code != c.code || !holds(o.out, c.out) || !holds(o.errs, c.errs) {
			t.Errorf("dragoman %s: exit code %d\nstdout: %s\nstderr: %s\nwant %d, %q, %q", c.args, o.code, o.out, o.errs, c.code, c.out, c.errs)
		}
	}
}

func holds(have, want string) bool {
	return want == "" && have == "" || want != "" && strings.Contains(have, want)
}

// Commands for help, versions and paths must not create anything.
func TestReadOnlyCommandsCreateNothing(t *testing.T) {
	p := newPlace(t)
	for _, args := range []string{"--help", "version", "doctor", "sessions list", "config path", "config show", "translate --table", "login", "logout groq", "eca", "acp", "mcp", "chat"} {
		p.run(t, "", strings.Fields(args)...)
	}
	if entries, err := os.ReadDir(p.home); err != nil || len(entries) > 0 {
		t.Errorf("home holds %v, %v", entries, err)
	}
	if found, err := filepath.Glob(filepath.Join(p.data, "sessions", "*", "*.jsonl")); err != nil || len(found) > 0 {
		t.Errorf("sessions were made: %v, %v", found, err)
	}
}

// The help is part of the product: every command has a description and an example, and explains
// its flags; no line is wider than a terminal.
func TestHelpIsComplete(t *testing.T) {
	a := &app{Environment: &program.Environment{Lookup: func(string) (string, bool) { return "", false }}}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "help" || c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion" {
			return
		}
		if c.Short == "" || c.Long == "" || c.Example == "" {
			t.Errorf("%s: Short, Long and Example are needed", c.CommandPath())
		}
		for _, line := range strings.Split(c.Long+"\n"+c.Example, "\n") {
			if len([]rune(line)) > 100 {
				t.Errorf("%s: %q is wider than 100", c.CommandPath(), line)
			}
		}
		for _, line := range strings.Split(c.Example, "\n") {
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: the example %q is not indented", c.CommandPath(), line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no help", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(a.root())
}

func TestConfigCommands(t *testing.T) {
	p := newPlace(t)
	path := filepath.Join(p.home, "config", "dragoman", "config.yaml")
	if got := p.well(t, "", "config", "path"); got != path+"\n" {
		t.Errorf("config path: %s", got)
	}
	p.golden(t, "config_show_defaults.txt", p.well(t, "", "config", "show"))
	p.golden(t, "config_init.txt", p.well(t, "", "config", "init"))
	if o := p.run(t, "", "config", "init"); o.code != program.ExitFailed || !strings.Contains(o.errs, "file already exists") {
		t.Errorf("a second init: %+v", o)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info, err)
	}
	if got := p.well(t, "", "config", "schema"); !strings.HasPrefix(got, "{") || !strings.Contains(got, "max_turn_requests") {
		t.Errorf("config schema: %.200s", got)
	}
	p.config(t, "model: groq/x\nproviders: {groq: {api_key: very-secret}}\n")
	if got := p.well(t, "", "config", "show"); !strings.Contains(got, "model: groq/x") || strings.Contains(got, "very-secret") {
		t.Errorf("config show: %s", got)
	}
	p.config(t, "modle: groq/x\nlog: {level: loud}\n")
	o := p.run(t, "", "config", "show")
	if o.code != program.ExitFailed || o.out != "" {
		t.Errorf("%+v", o)
	}
	p.golden(t, "config_show_wrong.txt", o.errs)
	other := filepath.Join(p.home, "other.yaml")
	p.write(t, other, "model: ollama/x\n")
	if got := p.well(t, "", "config", "show", "--config", other); !strings.Contains(got, "model: ollama/x") {
		t.Errorf("config show --config: %s", got)
	}
}
