package refer

import (
	"encoding/json"
	"reflect"
	"testing"

	"dragoman/adapters/proto/eca"
)

// Given paths are left out, and so are duplicates. A part of a file is not the file; there is
// only one cursor, wherever it is.
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
	got := Without(list, Given(json.RawMessage(`[{"type":"cursor","path":"/w/a","position":{}},{"type":"file","path":"/w/a","linesRange":{"start":1,"end":2}},
		{"type":"file","path":"/w/b"},{"type":"mcpResource","uri":"db://x","name":"x"},7,{"type":5}]`)))
	want := []eca.Context{{Type: eca.ContextRepoMap}, {Type: eca.ContextDirectory, Path: "/w"}, {Type: eca.ContextFile, Path: "/w/a"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOffered(t *testing.T) {
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"", []string{"repoMap", "cursor", "directory"}},
		{"MAP", []string{"repoMap"}},
		{"app", []string{"directory"}},
		{"nothing", nil},
	} {
		var got []string
		for _, o := range Offered([]string{"/home/ada/app"}, c.query) {
			got = append(got, o.Type)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.query, got, c.want)
		}
	}
}
