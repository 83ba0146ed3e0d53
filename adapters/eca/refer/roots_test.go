package refer

import (
	"path/filepath"
	"slices"
	"testing"

	"dragoman/adapters/proto/eca"
)

func TestRoots(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("the paths below are those of a Unix")
	}
	got := Roots([]eca.WorkspaceFolder{
		{URI: "file:///home/ada/my%20app/"},
		{URI: "file:///home/ada/my%20app"},
		{URI: "/plain/../path"},
		{URI: "file://localhost/srv"},
		{URI: "untitled:x"},
		{URI: "file:relative"},
		{URI: ""},
		{URI: "file:///%zz"},
		{URI: "https://example.com/x"},
	})
	if want := []string{"/home/ada/my app", "/path", "/srv"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, path := range []string{"/w/a b#c?.go", "/ä/%41"} {
		if got := PathOf(URIOf(path, [2]int{})); got != path {
			t.Errorf("%s came back as %s", path, got)
		}
	}
	for _, uri := range []string{"file://evil.example/w", "file:///w?x", "file:///w#L1"} {
		if got := PathOf(uri); got != "" {
			t.Errorf("%s is the path %s", uri, got)
		}
	}
}
