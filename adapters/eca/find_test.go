package eca

import (
	"encoding/json"
	"reflect"
	"testing"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
)

// What is given already is left out, and what stands there twice. A part of a file is
// not the file; wherever the cursor is, there is one.
func TestWithout(t *testing.T) {
	list := []eca.Context{
		{Type: eca.ContextRepoMap},
		{Type: eca.ContextCursor},
		{Type: eca.ContextDirectory, Path: "/w"},
		{Type: eca.ContextFile, Path: "/w/a"},
		{Type: eca.ContextFile, Path: "/w/b"},
		{Type: eca.ContextDirectory, Path: "/w"},
		{Type: eca.ContextMCPResource, URI: "db://x"},
	}
	got := without(list, given(json.RawMessage(`[{"type":"cursor","path":"/w/a","position":{}},{"type":"file","path":"/w/a","linesRange":{"start":1,"end":2}},
		{"type":"file","path":"/w/b"},{"type":"mcpResource","uri":"db://x","name":"x"},7,{"type":5}]`)))
	want := []eca.Context{{Type: eca.ContextRepoMap}, {Type: eca.ContextDirectory, Path: "/w"}, {Type: eca.ContextFile, Path: "/w/a"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOffered(t *testing.T) {
	for _, c := range []struct {
		d     Dialect
		query string
		want  []string
	}{
		{Now, "", []string{"repoMap", "cursor", "directory"}},
		{Doc000, "", []string{"repoMap", "cursor", "directory"}},
		{Doc001, "", []string{"repoMap", "directory"}},
		{Now, "MAP", []string{"repoMap"}},
		{Now, "app", []string{"directory"}},
		{Now, "nothing", nil},
	} {
		var got []string
		for _, o := range offered(c.d, []string{"/home/ada/app"}, c.query) {
			got = append(got, o.Type)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %q: got %q, want %q", c.d, c.query, got, c.want)
		}
	}
}

// Whatever params a client sends, reading them ends well.
func FuzzParams(f *testing.F) {
	for _, seed := range []string{
		`{"chatId":"c","query":"x","contexts":[{"type":"file","path":"a"},{"type":"cursor"},null,5]}`, `{"provider":"p","data":{"key":"x"},"method":null}`,
		`{"job-id":"j"}`, `{"id":"r","text":"t","prompt":"p","path":"a","range":{"start":{"line":-1},"end":{"line":9}}}`, `{"docText":"a","docVersion":1,"position":{"line":1,"character":1}}`,
		`{"chatId":"c","contentId":"m","include":["tools","x"]}`, `{"chatId":"c","before":"lastCompaction","after":-2}`, `{"message":"/login @~/x:L1-L2","contexts":[{"type":"file","path":"file:///%61"}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw := camel(json.RawMessage(text))
		if !json.Valid(raw) {
			return
		}
		var (
			query  eca.QueryContextParams
			login  eca.LoginParams
			input  eca.LoginInputParams
			job    eca.JobParams
			back   eca.RollbackParams
			page   eca.HistoryParams
			prompt eca.PromptParams
		)
		for _, p := range []any{&query, &login, &input, &job, &back, &page, &prompt} {
			_ = wire.Unmarshal(raw, p) // an error is the answer
		}
		without(offered(Now, []string{"/w"}, query.Query), given(query.Contexts))
		if w, _, err := windowOf(page.Limit, page.Before, page.After); err == nil {
			if w, err = w.behind(3); err == nil {
				if from, to := w.of(5); from < 0 || from > to || to > 5 {
					t.Errorf("%s: from %d to %d of 5", text, from, to)
				}
			}
		}
		_ = logsIn(prompt)
	})
}
