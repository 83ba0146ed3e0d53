package configs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// Hostile files are refused, or read, in little time. The parser alone takes from seconds to for
// ever for most of these.
func TestHostileFiles(t *testing.T) {
	const n = 1 << 16
	bomb := "agents: &a0\n  x: &v {description: x}\n"
	for i := range 20 {
		bomb += fmt.Sprintf("p%d: &a%d\n%s", i, i+1, strings.Repeat(fmt.Sprintf("  - *a%d\n", i), 10))
	}
	headers := "providers:\n  p0:\n    headers: &h\n"
	for i := range 2000 {
		headers += fmt.Sprintf("      h%d: x\n", i)
	}
	for i := range 1000 {
		headers += fmt.Sprintf("  p%d: {headers: *h}\n", i+1)
	}
	merges := "agents:\n  m0: &m0 {description: x, model: a/b, mode: all}\n"
	for i := range 200 {
		merges += fmt.Sprintf("  m%d: &m%d\n    <<: [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*m%d,", i), 10))
	}
	staircase := ""
	for i := range 1400 {
		staircase += strings.Repeat(" ", i) + "a:\n"
	}
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, "k%d: v\n", i)
	}
	for name, text := range map[string]string{
		"brackets": strings.Repeat("[", n), "braces": strings.Repeat("{a: ", n/4), "dashes": strings.Repeat("- ", n/2),
		"questions": strings.Repeat("? ", n/2), "tags": "model: " + strings.Repeat("!a ", n/3), "anchors": "model: " + strings.Repeat("&a ", n/3),
		"stars": "model: " + strings.Repeat("*a ", n/3), "many": many.String(), "same": strings.Repeat("model: b\n", n/9), "staircase": staircase,
		"bomb": bomb, "shared headers": headers, "merges": merges, "documents": strings.Repeat("--- a\n", n/6), "commas": "a: [" + strings.Repeat(",", n) + "]",
		"percent": strings.Repeat("%", n), "bars": strings.Repeat("|\n", n/2), "colons": strings.Repeat(": ", n/2), "large": strings.Repeat("#", maxFile+1),
		"utf-16": "\xff\xfem\x00", "latin-1": "# comment\nmodel: gr\xfcn\n", "nul": "model: \x00", "quotes": strings.Repeat("''", n/2),
		"dashes in brackets": "agents: [" + strings.Repeat("- ", 5000) + "]",
	} {
		begin := time.Now()
		_, err := read("config.yaml", []byte(text))
		if err == nil {
			t.Errorf("%s: no problem was found", name)
			continue
		}
		if took := time.Since(begin); took > 30*time.Second { // exponential work takes for ever; -race on a loaded machine some seconds, without either under 0.3 s
			t.Errorf("%s: took %v", name, took)
		}
		if len(err.Error()) > 8<<10 {
			t.Errorf("%s: %d bytes of problems", name, len(err.Error()))
		}
	}
	for name, want := range map[string]string{
		"# comment\nmodel: gr\xfcn\n": "config.yaml:2:10: is not UTF-8 text; save the file as UTF-8",
		"\xff\xfem\x00":               "config.yaml: is UTF-16 text; save it as UTF-8",
		strings.Repeat("[", n):        "config.yaml:1:33: is nested too deeply",
		headers:                       "aliases make more than 20000 values of this file",
	} {
		if _, err := read("config.yaml", []byte(name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The limits do not apply to comments and long texts.
func TestLargeFiles(t *testing.T) {
	for name, text := range map[string]string{
		"text":     "agents:\n  a:\n    instructions: |\n" + strings.Repeat("      Be short, and say what is wrong.\n", 20_000),
		"comments": strings.Repeat("# a line of a comment\n", 15_000) + "model: groq/x\n",
		"rules":    "policy:\n  deny:\n" + strings.Repeat("  - {path: \"**/.env\"}\n", 2_000),
	} {
		if _, err := read("config.yaml", []byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoadLargeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, make([]byte, maxFile+100), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Options{Path: path}); err == nil || err.Error() != path+": is larger than 1 MiB" {
		t.Errorf("%v", err)
	}
}

// Whatever a file contains, reading it ends, and the result can be written and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(ExampleYAML()))
	f.Add([]byte(switchedOn(ExampleYAML())))
	f.Add([]byte("{\"model\": \"a/b\"}"))
	f.Add([]byte("agents: &a {x: {<<: *a, description: \"\\u2028\"}}"))
	f.Add([]byte("providers:\n  a: &p {base_url: 'http://x'}\n  b: {<<: [*p], api_key: \"${env:A}$${\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		// The fuzzer itself does not notice an input that never ends.
		defer time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("hangs: %q", data)) }).Stop()
		c, err := read("config.yaml", data)
		shown := Marshal(c)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		again, err := Parse("again.yaml", shown)
		if err != nil && !strings.Contains(string(shown), "?***") {
			t.Fatalf("%v\n%s", err, shown)
		}
		if twice := Marshal(again); !bytes.Equal(placeless(twice), placeless(shown)) {
			t.Errorf("written:\n%s\nread and written again:\n%s", shown, twice)
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	path := filepath.Join(b.TempDir(), "config.yaml")
	for name, text := range map[string]string{"none": "", "4KiB": switchedOn(ExampleYAML()), "comments": ExampleYAML()} {
		b.Run(name, func(b *testing.B) {
			o := Options{ConfigDir: b.TempDir()}
			if text != "" {
				o.Path = path
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				c, err := Load(o)
				if err != nil {
					b.Fatal(err)
				}
				c.ChooseModel(nil, nil)
			}
		})
	}
}

// Any text is unchanged after Marshal and Parse.
func FuzzStrings(f *testing.F) {
	for _, s := range []string{
		"", "a", "yes", "1", "0x1", "~", "null", "- a", "a: b", "a #b", "#", "\n", "a\n", "a\nb\n", "a\n\nb\n", " a\n", "a \nb\n", "a\n  b\n", "\ta\n", "a\tb\n",
		"\u2028", "\u0085", "\x7f", "\x00", "é", "😀", "\ufeff", "\r\n", "a\r\nb\n", "\\", "\"", "'", "%a\n", "---\n", "...\n", "a\n---\n", "*a", "&a", "!a", "|", ">", "\ufffe", "<<",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || strings.Contains(s, "${") || s == "" {
			return
		}
		c := Defaults()
		c.Agents = map[string]Agent{"a": {Description: s, Instructions: NewValue(s), Mode: "all"}}
		c.Policy.Deny = []Rule{{URL: s}}
		c.MCPServers = map[string]MCPServer{"m": {Command: NewValue(s), Args: []Value{NewValue(s)}, Start: "auto", StartTimeout: time.Minute, CallTimeout: time.Minute}}
		shown := Marshal(c)
		again, err := Parse("again.yaml", shown)
		if err != nil {
			t.Fatalf("%v\n%s", err, shown)
		}
		a, m := again.Agents["a"], again.MCPServers["m"]
		for _, got := range []string{a.Description, a.Instructions.String(), again.Policy.Deny[0].URL, m.Command.String(), m.Args[0].String()} {
			if got != s {
				t.Errorf("%q came back as %q from\n%s", s, got, shown)
			}
		}
	})
}
