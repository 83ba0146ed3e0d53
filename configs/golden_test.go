package configs

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden runs render over every NAME.yaml of an archive and compares with the NAME.want after it.
func golden(t *testing.T, pattern string, render func(t *testing.T, name string, data []byte) string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		out := &txtar.Archive{Comment: archive.Comment}
		for _, f := range archive.Files {
			if name, ok := strings.CutSuffix(f.Name, ".want"); ok {
				want[name] = string(f.Data)
			}
		}
		for _, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, ".yaml")
			if !ok {
				continue
			}
			got := render(t, f.Name, f.Data)
			out.Files = append(out.Files, f, txtar.File{Name: name + ".want", Data: []byte(got)})
			if !*update && got != want[name] {
				t.Errorf("%s: %s\n--- want\n%s--- got\n%s", file, f.Name, want[name], got)
			}
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// read is Load without a disk.
func read(name string, data []byte) (*Config, error) {
	layer, problems := decodeFile(name, data, false)
	c, err := Resolve(layer, nil, nil)
	if err != nil {
		problems = append(problems, err.(*Error).Problems...) //nolint:errorlint // never wrapped
	}
	return c, asError(problems)
}

func TestBadFiles(t *testing.T) {
	golden(t, "testdata/bad/*.txtar", func(t *testing.T, name string, data []byte) string {
		_, err := read(name, data)
		if err == nil {
			t.Errorf("%s: no problem was found", name)
			return ""
		}
		for _, secret := range []string{"hunter", "123456789", "8080"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %q is shown:\n%v", name, secret, err)
			}
		}
		return err.Error() + "\n"
	})
}

func TestGoodFiles(t *testing.T) {
	golden(t, "testdata/good/*.txtar", func(t *testing.T, name string, data []byte) string {
		c, err := read(name, data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return ""
		}
		shown := Marshal(c)
		if bytes.Contains(shown, []byte("hunter2")) || bytes.Contains(shown, []byte("sk-1234")) {
			t.Errorf("%s: a secret is shown:\n%s", name, shown)
		}
		again, problems := decodeFile("again", shown, false)
		if len(problems) > 0 {
			t.Errorf("%s: what Marshal wrote cannot be read: %v\n%s", name, problems, shown)
		}
		if twice := Marshal(again); !bytes.Equal(placeless(twice), placeless(shown)) {
			t.Errorf("%s: what Marshal wrote reads differently:\n%s\n%s", name, shown, twice)
		}
		// The explanations are the same everywhere; one file shows them.
		if name == "empty.yaml" {
			return string(shown)
		}
		var lines []string
		for line := range strings.Lines(string(shown)) {
			if s := strings.TrimSpace(line); s != "" && !strings.HasPrefix(s, "# ") {
				lines = append(lines, line)
			}
		}
		for _, w := range c.Warnings {
			lines = append(lines, "warning: "+w.String()+"\n")
		}
		return strings.Join(lines, "")
	})
}

// placeless returns the output of Marshal without the positions of servers.
func placeless(shown []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(shown) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("# from ")) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// Every possible setting is described, and its tags are valid.
func TestEveryKeyIsDocumented(t *testing.T) {
	seen := 0
	uncommented := switchedOn(ExampleYAML())
	eachField(t, func(key string, f field, s shape) {
		seen++
		if len(f.doc) < 20 || !strings.HasSuffix(f.doc, ".") {
			t.Errorf("%s: needs a description that ends with a period, has %q", key, f.doc)
		}
		if strings.ContainsAny(f.doc, "\n\t") {
			t.Errorf("%s: the description is not one line", key)
		}
		if !strings.Contains(uncommented, f.name+":") {
			t.Errorf("%s: does not appear in example.yaml", key)
		}
		if f.enum != nil && f.def != "" && !strings.Contains(","+strings.Join(f.enum, ",")+",", ","+f.def+",") {
			t.Errorf("%s: default %q is not one of %v", key, f.def, f.enum)
		}
		if s == shapeMap && f.names == "" {
			t.Errorf("%s: a mapping needs names:\"…\"", key)
		}
	})
	if seen < 30 {
		t.Errorf("only %d keys were looked at", seen)
	}
}

func TestSchema(t *testing.T) {
	got := SchemaJSON()
	if *update {
		if err := os.WriteFile("schema.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("schema.json is not what the structs say; run go test ./configs -update")
	}
}

// A list of names with a text that is no pattern is an error: a list that removes tools must not
// remove none in silence.
func TestPatternsInListsAreChecked(t *testing.T) {
	for _, text := range []string{
		"agents: {a: {description: x, disabled_tools: [write_file, 'read_[a-z]*']}}",
		"agents: {a: {description: x, tools: [write_file, 'read_?']}}",
		"mcp_servers: {a: {command: x, without_tools: ['*', 'a{b}']}}",
		"mcp_servers: {a: {command: x, tools: [a, 'b\\c']}}",
	} {
		if _, err := Parse("config.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "tools[1]: is not a pattern: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
	server := MCPServer{Command: NewValue("x"), Tools: []string{"a[b"}}
	if _, err := Apply("mcp.json", nil, nil, AddServer("a", server)); err == nil || !strings.Contains(err.Error(), "tools[0]: is not a pattern") {
		t.Errorf("AddServer: %v", err)
	}
}
