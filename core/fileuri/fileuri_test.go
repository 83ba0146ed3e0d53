package fileuri

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestPath(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///w/a%20b":   "/w/a b",
		"FILE://LOCALHOST/": "/",
		"file:///C:/x":      "C:/x",
		"file:///a%3Fb%23c": "/a?b#c",

		"file://host/w": "", "file:////host/w": "//host/w", "file://ada@/w": "", "file:///w?x": "", "file:///w?": "", "file:///w#L1": "",
		"https://x/w": "", "/w": "", "file:w": "", "%": "", "": "",
	} {
		if uri == "file:////host/w" && runtime.GOOS == "windows" {
			want = "" // a share
		}
		if got, err := Path(uri); got != filepath.FromSlash(want) || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", uri, got, err, want)
		}
	}
}

func TestShares(t *testing.T) {
	for uri, want := range map[[2]string]string{
		{"", "/c:/x"}: "c:/x", {"", "/C:/x"}: "C:/x", {"host", "/share/x"}: "//host/share/x", {"", "/x"}: "/x",
	} {
		if got := local(uri[0], uri[1]); got != want {
			t.Errorf("%v: got %s, want %s", uri, got, want)
		}
	}
	got, err := PathOrShare("file://host/share/x")
	if share := filepath.FromSlash("//host/share/x"); runtime.GOOS == "windows" && got != share || runtime.GOOS != "windows" && err == nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func FuzzOf(f *testing.F) {
	for _, path := range []string{"/w/a b#c?.go", "/ä/%41", "/C:/x", "//host/x"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		path = "/w" + path
		if got, err := Path(Of(path)); err != nil || got != filepath.FromSlash(path) {
			t.Errorf("%q came back as %q, %v", path, got, err)
		}
	})
}
