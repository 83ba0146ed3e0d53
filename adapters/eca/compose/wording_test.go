package compose

import (
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

func TestOffsetOf(t *testing.T) {
	const doc = "ab\r\nä😀x\nlast"
	for at, want := range map[eca.Place]string{
		{Line: 1, Character: 1}:       "",
		{Line: 1, Character: 2}:       "a",
		{Line: 1, Character: 99}:      "ab",
		{Line: 2, Character: 2}:       "ab\r\nä",
		{Line: 2, Character: 4}:       "ab\r\nä😀",
		{Line: 2, Character: 5}:       "ab\r\nä😀x",
		{Line: 3, Character: 5}:       doc,
		{Line: 9, Character: 1}:       doc,
		{Line: 0, Character: 0}:       "",
		{Line: -5, Character: -5}:     "",
		{Line: 1 << 40, Character: 1}: doc,
	} {
		if got := doc[:offsetOf(doc, at)]; got != want {
			t.Errorf("%+v: got %q, want %q", at, got, want)
		}
	}
}

func TestBare(t *testing.T) {
	for text, want := range map[string]string{
		"x\n":                           "x\n",
		"```go\nx\ny\n```":              "x\ny",
		"\n````\n```\nx\n```\n````\n":   "```\nx\n```",
		"```\n```":                      "",
		"```":                           "```",
		"``x``":                         "``x``",
		"```\na\n```\nand\n```\nb\n```": "```\na\n```\nand\n```\nb\n```",
		"see ```x```":                   "see ```x```",
		"":                              "",
	} {
		if got := Bare(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestContinuation(t *testing.T) {
	for _, c := range []struct{ answer, line, want string }{
		{"rn x\n", "  retu", "rn x"},
		{"  return x", "  retu", "rn x"},
		{"return x", "  retu", "rn x"},
		{"```go\nreturn x\n```", "\treturn ", "x"},
		{"a1", "a", "a1"},
		{"\n\n", "", ""},
	} {
		if got := continuation(c.answer, c.line); got != c.want {
			t.Errorf("%q behind %q: got %q, want %q", c.answer, c.line, got, c.want)
		}
	}
}

// A model gets the part of a long document near the cursor, in whole runes.
func TestLongDocument(t *testing.T) {
	doc := strings.Repeat("ä", beforeCursor) + "\n" + strings.Repeat("ö", behindCursor)
	r, line := completionRequest(doc, eca.Place{Line: 2, Character: 1})
	said := r.Messages[0].Blocks[0].(core.Text).Text
	before, behind, _ := strings.Cut(said, "<|cursor|>")
	if line != "" || !utf8.ValidString(said) || len(before) > beforeCursor || len(behind) > behindCursor || len(before)+len(behind) < beforeCursor+behindCursor-4 {
		t.Errorf("%d bytes in front of the cursor and %d behind it, in the line %q", len(before), len(behind), line)
	}
}

func TestFenced(t *testing.T) {
	for text, want := range map[string]string{"x\n": "```\nx\n```", "a\n````\nb": "`````\na\n````\nb\n`````"} {
		if got := fenced(text); got != want || Bare(got) != strings.TrimSuffix(text, "\n") {
			t.Errorf("%q: got %q, want %q, and back: %q", text, got, want, Bare(got))
		}
	}
}

// The mark occurs once, at the cursor, and nothing of a document that fits is lost.
func FuzzCompletionRequest(f *testing.F) {
	f.Add("a\nb<|cursor|>c", 2, 3)
	f.Add("ä😀", 1, 2)
	f.Fuzz(func(t *testing.T, doc string, line, column int) {
		r, begun := completionRequest(doc, eca.Place{Line: line, Character: column})
		said := r.Messages[0].Blocks[0].(core.Text).Text
		_, mark, _ := strings.Cut(r.System, "document in which ")
		mark, _, _ = strings.Cut(mark, " marks the cursor")
		before, behind, ok := strings.Cut(said, mark)
		if !ok || strings.Contains(behind, mark) || strings.Contains(begun, "\n") || !strings.HasSuffix(before, begun) {
			t.Fatalf("%q at %d:%d: %q", doc, line, column, said)
		}
		if len(doc) <= behindCursor && before+behind != doc || utf8.ValidString(doc) && !utf8.ValidString(said) {
			t.Fatalf("%q at %d:%d: %q", doc, line, column, said)
		}
		_ = Bare(doc)
		_ = continuation(doc, begun)
	})
}

// Whatever params a client sends, a request is made of them.
func FuzzParams(f *testing.F) {
	f.Add(`{"id":"r","text":"t","prompt":"p","path":"a","range":{"start":{"line":-1},"end":{"line":9}}}`)
	f.Add(`{"docText":"a","docVersion":1,"position":{"line":1,"character":1}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var rewrite eca.RewriteParams
		var complete eca.CompletionParams
		_, _ = wire.Unmarshal([]byte(text), &rewrite), wire.Unmarshal([]byte(text), &complete) // an error is the answer
		if r := rewriteRequest(rewrite, ""); len(r.Messages) != 1 {
			t.Errorf("%s: %d messages", text, len(r.Messages))
		}
		if r, _ := completionRequest(complete.DocText, complete.Position); len(r.Messages) != 1 {
			t.Errorf("%s: %d messages", text, len(r.Messages))
		}
		if lines := Around(rewrite.Range); lines[0] < 0 || lines[1] < lines[0] {
			t.Errorf("%s: lines %v", text, lines)
		}
	})
}
