package download

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only https leads away from this machine, and what a source of others names never leads to it.
func TestCheck(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.com/a": "", "http://127.0.0.1:1/a": "", "http://localhost/a": "", "http://[::1]/a": "",
		"http://example.com/a": "does not begin with https://", "ftp://example.com/a": "does not begin with https://", "file:///etc/passwd": "is no address",
		"https://user:secret@example.com": "has a login in it", "https://exa mple.com": "is no address", "https://x\n": "is no address", "": "is no address",
		"http://127.0.0.1.example.com/a": "does not begin with https://", `https:\\example.com`: "is no address",
	} {
		_, err := Check(address)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q: %v, want %s", address, err, want)
		}
	}
}

func TestFetcher(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			http.NotFound(w, r)
		case "/away":
			http.Redirect(w, r, "http://example.com/a", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/once":
			http.Redirect(w, r, "/a", http.StatusFound)
		case "/long":
			w.(http.Flusher).Flush() // without a length
			fmt.Fprint(w, strings.Repeat("x", 2000))
		case "/cut":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "short")
		default:
			fmt.Fprint(w, "hello")
		}
	}))
	defer server.Close()
	var done int64
	f := Fetcher{Anywhere: true, Progress: func(n, _ int64) { done = n }}
	for path, want := range map[string]string{
		"/a": "", "/once": "", "/gone": "the server answered 404", "/away": "does not begin with https://", "/loop": "redirected more than 5 times", "/long": "is larger than",
		"/cut": "unexpected EOF",
	} {
		data, err := f.Get(t.Context(), server.URL+path, 1000)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || err == nil && string(data) != "hello" {
			t.Errorf("%s: %q, %v, want %s", path, data, err, want)
		}
	}
	if _, err := (Fetcher{}).Get(t.Context(), server.URL+"/a", 1000); err == nil || !strings.Contains(err.Error(), "is not on the public network") {
		t.Errorf("this machine: %v", err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sum, size, err := f.File(t.Context(), server.URL+"/a", 1000, file)
	if err != nil || size != 5 || done != 5 || sum != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Errorf("%s, %d (%d), %v", sum, size, done, err)
	}
}
