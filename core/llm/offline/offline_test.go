package offline

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestDemo plays each file of testdata/demo: "prompt" is the user's text, "tools" are
// the names of the offered tools, "schema" is the schema of all of them, each "result"
// answers one call, "failed" answers it as a failure, and "answers" has the demo's
// answers, round by round. Each line of "attached" is a link in the prompt.
func TestDemo(t *testing.T) {
	coretest.Golden(t, "testdata/demo/*.txtar", *update, func(t *testing.T, _ string, ar *txtar.Archive) {
		coretest.SetSection(ar, "answers", playDemo(t, ar))
	})
}

func demoForTests() *Model {
	return New(Config{
		Wanted: []Wanted{
			{"openai", []string{"OPENAI_API_KEY"}},
			{"gemini", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}},
			{"ollama", nil},
		},
		KeyFile: "/home/me/.config/dragoman/config.yaml",
	})
}

func playDemo(t *testing.T, ar *txtar.Archive) string {
	blocks := []core.Block{core.Text{Text: strings.TrimSuffix(coretest.Section(ar, "prompt"), "\n")}}
	for uri := range strings.FieldsSeq(coretest.Section(ar, "attached")) {
		blocks = append(blocks, core.Link{URI: uri, Name: "attached"})
	}
	r := &inference.Request{System: "You are helpful.", Messages: []inference.Message{{Role: inference.RoleUser, Blocks: blocks}}}
	for name := range strings.FieldsSeq(coretest.Section(ar, "tools")) {
		r.Tools = append(r.Tools, inference.ToolSpec{Name: name, Schema: json.RawMessage(coretest.Section(ar, "schema"))})
	}
	var results []inference.ToolReturn
	for _, f := range ar.Files {
		if f.Name == "result" || f.Name == "failed" {
			results = append(results, inference.ToolReturn{Blocks: []core.Block{core.Text{Text: string(f.Data)}}, Failed: f.Name == "failed"})
		}
	}
	var b strings.Builder
	for {
		h := coretest.Hear(t.Context(), t, demoForTests(), r, func(d inference.Delta) bool {
			coretest.WriteDelta(&b, d)
			return true
		})
		if h.Err != nil || h.Stop != core.StopEnd {
			t.Fatalf("stop %q, error %v", h.Stop, h.Err)
		}
		if len(h.Calls) == 0 {
			return b.String()
		}
		if len(h.Calls) > 1 || len(results) == 0 {
			t.Fatalf("%d calls with %d results left", len(h.Calls), len(results))
		}
		b.WriteByte('\n')
		use := inference.ToolUse{ID: h.Calls[0].ID, Name: h.Calls[0].Tool, Args: json.RawMessage(h.Calls[0].Args)}
		results[0].ID, results[0].Name = use.ID, use.Name
		r.Messages = append(r.Messages, inference.Message{Role: inference.RoleAssistant, Text: h.Text, Calls: []inference.ToolUse{use}},
			inference.Message{Role: inference.RoleTool, Result: results[0]})
		results = results[1:]
	}
}

func TestDemoIntroduction(t *testing.T) {
	const golden = "testdata/introduction.md"
	got := demoForTests().introduction(errNoInstruction)
	coretest.GoldenFile(t, golden, got, *update)
	for _, must := range []string{"OPENAI_API_KEY", "not a language model", "do not see the variables of your shell", "config.yaml"} {
		if !strings.Contains(got, must) {
			t.Errorf("%q is missing", must)
		}
	}
}

// Quoted text is formatted as code, whatever backticks it contains.
func TestDemoQuotesBackticks(t *testing.T) {
	for step, want := range map[string]string{"make ``tea``": "``` make ``tea`` ```", "make `a` tea": "``make `a` tea``"} {
		got := New(Config{}).introduction(&stepError{step: step, why: "no"})
		if want = "could not follow " + want + ": no."; !strings.Contains(got, want) {
			t.Errorf("%q: there is no %q in %.80q", step, want, got)
		}
	}
}

// TestDemoStream measures the memory of a stream of a million deltas.
func TestDemoStream(t *testing.T) {
	r := coretest.ModelRequest(core.Text{Text: "stream 1000000 of 10"})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	deltas, size := 0, 0
	for d, err := range demoForTests().Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Kind == inference.DeltaText {
			deltas, size = deltas+1, size+len(d.Text)
		}
	}
	runtime.ReadMemStats(&after)
	if deltas != 1_000_000 || size != 10_000_000 {
		t.Errorf("%d deltas, %d bytes", deltas, size)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("%d bytes were allocated", took)
	}
}

func TestDemoCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	h := coretest.Hear(ctx, t, demoForTests(), coretest.ModelRequest(core.Text{Text: "stream 100000000"}), func(inference.Delta) bool {
		if n++; n == 1000 {
			cancel()
		}
		return true
	})
	if !errors.Is(h.Err, context.Canceled) || n != 1000 {
		t.Errorf("ended with %v after %d deltas", h.Err, n)
	}
}

// TestDemoSteered: a new message in the middle of a turn replaces the request.
func TestDemoSteered(t *testing.T) {
	user := func(s string) inference.Message {
		return inference.Message{Role: inference.RoleUser, Blocks: []core.Block{core.Text{Text: s}}}
	}
	r := &inference.Request{Tools: []inference.ToolSpec{{Name: "read_file"}}, Messages: []inference.Message{
		user("read a then read b"),
		{Role: inference.RoleAssistant, Calls: []inference.ToolUse{{ID: "demo_1_1", Name: "read_file"}}},
		{Role: inference.RoleTool, Result: inference.ToolReturn{ID: "demo_1_1"}},
		user("read c"),
	}}
	h := coretest.Hear(t.Context(), t, demoForTests(), r, nil)
	if len(h.Calls) != 1 || h.Calls[0].ID != "demo_2_1" || h.Calls[0].Args != `{"path":"c"}` {
		t.Errorf("calls are %+v", h.Calls)
	}
}

// TestDemoMerged: of two messages that became one the last counts, unless they are one
// instruction.
func TestDemoMerged(t *testing.T) {
	r := coretest.ModelRequest(core.Text{Text: "read a"}, core.Text{Text: "read b"})
	r.Tools = []inference.ToolSpec{{Name: "read_file"}}
	h := coretest.Hear(t.Context(), t, demoForTests(), r, nil)
	if len(h.Calls) != 1 || h.Calls[0].Args != `{"path":"b"}` {
		t.Errorf("calls are %+v", h.Calls)
	}
}

func TestParseSteps(t *testing.T) {
	tests := []struct {
		in   string
		want string // VERB[arg|arg] … or an error
	}{
		{"read a.txt", "read[a.txt]"},
		{"READ  a.txt.", "read[a.txt]"},
		{`Read "my file.txt".`, "read[my file.txt]"},
		{`read "a."`, "read[a.]"},
		{"list", "list[.]"},
		{"list .", "list[.]"},
		{"list ..", "list[..]"},
		{"list src/.", "list[src/.]"},
		{"read a b", `"read a b": it needs one path; put a path with spaces in double quotes`},
		{"read", `"read": it needs one path; put a path with spaces in double quotes`},
		{"search to do", "search[to do]"},
		{`search "a then b"`, "search[a then b]"},
		{"write a.txt: hello there.", "write[a.txt|hello there.]"},
		{"write a.txt:hello", "write[a.txt|hello]"},
		{"write a.txt:\nline 1\nline 2\n", "write[a.txt|line 1\nline 2]"},
		{"write a.txt:", "write[a.txt|]"},
		{`write "my file": "now then later"`, "write[my file|now then later]"},
		{`write C:\a.txt: x: y`, `write[C:\a.txt|x: y]`},
		{`write C:\a.txt:x`, `write[C:\a.txt|x]`},
		{`write a: "say \"hi\""`, `write[a|say "hi"]`},
		{"write a.txt hello", `"write a.txt hello": it needs a path, a colon and the text: write PATH: TEXT`},
		{"write: hello", "not an instruction"},
		{"replace a with b in c.txt", "replace[a|b|c.txt]"},
		{"replace foo with bar in baz in c.txt", "replace[foo|bar in baz|c.txt]"},
		{`replace "a with b" with "" in "c d.txt"`, "replace[a with b||c d.txt]"},
		{"replace a in b", `"replace a in b": it needs both texts and a path: replace A with B in PATH`},
		{"replace a with in c", `"replace a with in c": it needs both texts and a path: replace A with B in PATH`},
		{"run ls -l", "run[ls -l]"},
		{`run echo "a then b" then read c`, `run[echo "a then b"] read[c]`},
		{`run "echo hi then bye"`, "run[echo hi then bye]"},
		{`run "a" "b"`, `run["a" "b"]`},
		{"run make.", "run[make.]"},
		{"think hard Then list\nTHEN think more", "think[hard] list[.] think[more]"},
		{`think 5" then list`, `think[5"] list[.]`},
		{`plan a; "b; c";; d`, "plan[a|b; c|d]"},
		{"plan ;", `"plan ;": it needs at least one entry; separate entries with semicolons`},
		{"ask which way?", "ask[which way?]"},
		{"ask", `"ask": it lacks what to ask`},
		{"stream 3", "stream[] 3x16"},
		{"Stream 3 of 5.", "stream[] 3x5"},
		{"stream 0", `"stream 0": it needs a number up to 1000000000, and takes a size up to 1048576: stream N of SIZE`},
		{"stream 2 of 99999999", `"stream 2 of 99999999": it needs a number up to 1000000000, and takes a size up to 1048576: stream N of SIZE`},
		{"hello", "not an instruction"},
		{"", "not an instruction"},
		{"readme", "not an instruction"},
		{"read a then dance", `"dance": I do not know this instruction`},
		{"read a then", `"read a then": it needs one path; put a path with spaces in double quotes`},
		{"read " + strings.Repeat("é ", 37) + "é", `"read ` + strings.Repeat("é ", 37) + `é": it needs one path; put a path with spaces in double quotes`},
		{"read \n " + strings.Repeat("\U0001F600 ", 400), `"read ` + strings.Repeat("\U0001F600 ", 37) + `…": it needs one path; put a path with spaces in double quotes`},
		{"read x " + strings.Repeat("\U0001F600", 400), `"read x ` + strings.Repeat("\U0001F600", 72) + `…": it needs one path; put a path with spaces in double quotes`},
	}
	for _, tt := range tests {
		steps, err := parseSteps(tt.in, nil)
		var got []string
		for _, s := range steps {
			one := fmt.Sprintf("%s[%s]", s.verb, strings.Join(s.args, "|"))
			if s.verb == verbStream {
				one += fmt.Sprintf(" %dx%d", s.count, s.size)
			}
			got = append(got, one)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if all := strings.Join(got, " "); all != tt.want {
			t.Errorf("parseSteps(%q)\n got %s\nwant %s", tt.in, all, tt.want)
		}
	}
}

func FuzzParseSteps(f *testing.F) {
	for _, s := range []string{`read "a then b" then run x`, `write a: "`, `replace a with b in c`, `plan \";"`, "stream 1 of 2", `"`, `\"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		steps, err := parseSteps(s, nil)
		if err == nil && len(steps) == 0 {
			t.Error("neither steps nor an error")
		}
		for _, st := range steps {
			if st.verb == verbStream {
				continue
			}
			var object map[string]json.RawMessage
			if args := toolArgs(st, nil); st.tool() != "" && json.Unmarshal(args, &object) != nil {
				t.Errorf("arguments of %s are %s", st.said, args)
			}
		}
	})
}

func TestFilePath(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///a/b%20c.txt": filepath.FromSlash("/a/b c.txt"),
		"file:///C:/x":        filepath.FromSlash("C:/x"),
		"https://x.test/a":    "https://x.test/a",
		"%zz":                 "%zz",
	} {
		if got := filePath(uri); got != want {
			t.Errorf("filePath(%q) is %q, want %q", uri, got, want)
		}
	}
}

func BenchmarkDemoStream(b *testing.B) {
	r := coretest.ModelRequest(core.Text{Text: "stream 1000000000"})
	n := 0
	b.ReportAllocs()
	for range demoForTests().Stream(b.Context(), r) {
		if n++; n == b.N {
			break
		}
	}
}
