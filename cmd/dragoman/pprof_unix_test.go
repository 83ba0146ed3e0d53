//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Profiles are served where --pprof says, to this user alone, until the client leaves.
func TestPprof(t *testing.T) {
	p := newPlace(t)
	path := filepath.Join(p.work, "pprof") // short: the paths of sockets are
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Skipf("the path is too long here: %v", err)
	}
	dead.SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil { // what a killed process leaves
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}}
	get := func(path string) string {
		t.Helper()
		resp, err := client.Get("http://dragoman/debug/pprof/" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v %s", path, resp.Status, err, text)
		}
		return string(text)
	}
	for _, protocol := range []string{"acp", "eca", "mcp"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := p.command(ctx, protocol, "--pprof", "unix:"+path)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`
		if protocol == "eca" {
			hello = fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hello)+1) + hello
		}
		if _, err := io.WriteString(in, hello+"\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil { // it serves
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != os.ModeSocket|0o600 {
			t.Errorf("the socket has mode %v", info.Mode())
		}
		if list := get(""); !strings.Contains(list, "profile\n") || !strings.Contains(list, "goroutine ") {
			t.Errorf("the list is %q", list)
		}
		for _, name := range []string{"profile?seconds=0.01", "heap?gc=1", "allocs", "mutex?seconds=0.01", "block?seconds=0.01"} {
			if got := get(name); !strings.HasPrefix(got, "\x1f\x8b") {
				t.Errorf("%s is not a profile: %.40q", name, got)
			}
		}
		if got := get("goroutine?debug=2"); !strings.Contains(got, "goroutine 1 ") {
			t.Errorf("the stacks are %q", got)
		}
		if got := get("trace?seconds=0.01"); !strings.HasPrefix(got, "go 1") {
			t.Errorf("not a trace: %.40q", got)
		}
		if o := p.run(t, "", protocol, "--pprof", "unix:"+path); o.code != 1 || !strings.Contains(o.errs, "another process listens on "+path) {
			t.Errorf("a second one: %+v", o)
		}
		client.CloseIdleConnections()
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // ECA's exit code says that nobody asked for the end
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("the socket is left behind: %v", err)
		}
	}
}

// Nothing but a dead socket is replaced, and no other address is listened on.
func TestPprofRefused(t *testing.T) {
	p := newPlace(t)
	file := filepath.Join(p.work, "file")
	p.write(t, file, "mine")
	link := filepath.Join(p.work, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"unix:" + file:   file + " exists and is not a socket",
		"unix:" + link:   link + " exists and is not a socket",
		"127.0.0.1:6060": `--pprof takes unix:PATH, not "127.0.0.1:6060"`,
		"unix:":          `--pprof takes unix:PATH, not "unix:"`,
	} {
		if o := p.run(t, "", "acp", "--pprof", at); o.code != 1 || !strings.Contains(o.errs, want) {
			t.Errorf("%s: %+v", at, o)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("the file is %q, %v", text, err)
	}
}
