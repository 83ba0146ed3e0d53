package upstream

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
)

// folders are folders of an editor that change.
type folders struct{ now atomic.Pointer[[]string] }

func (f *folders) set(list ...string) { f.now.Store(&list) }

func (f *folders) list() []string {
	if list := f.now.Load(); list != nil {
		return *list
	}
	return nil
}

// A server gets to know at once that the folders of its session have changed, and once for each
// change. It may ask for them although none of its tools is called.
func TestServersLearnOfOtherFolders(t *testing.T) {
	script := bridgetest.Greeting + bridgetest.OneTool("") + bridgetest.ToolDone +
		`notifications/roots/list_changed {"jsonrpc":"2.0","id":"r","method":"roots/list"}` + "\n" +
		`notifications/roots/list_changed#3 exit` + "\n" +
		`answer {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":$RESULT}}` + "\n"
	said := make(chan string, 10)
	var added folders
	h := &host{meta: core.Meta{Roots: []string{"/a"}}, beside: added.list}
	b, s := open(t, h, Options{
		Servers: []Server{{Name: "x", Endpoint: plays("script", "SCRIPT="+script)}},
		Log: func(_, _, text string) {
			if strings.HasPrefix(text, `{"roots"`) {
				said <- text
			}
		},
	})
	done := func(when string) {
		t.Helper()
		if res, err := call(t, toolOf(t, s, "t"), `{}`); err != nil || text(res) != "done" {
			t.Fatalf("%s: %+v, %v", when, res, err)
		}
	}
	learns := func(when string, roots ...string) {
		t.Helper()
		var want []string
		for _, r := range roots {
			want = append(want, fmt.Sprintf(`"uri":"file://%s"`, r))
		}
		select {
		case got := <-said:
			for _, uri := range want {
				if !strings.Contains(got, uri) {
					t.Errorf("%s: %s, want %s", when, got, uri)
				}
			}
			if n := strings.Count(got, `"uri"`); n != len(want) {
				t.Errorf("%s: %s, want %d", when, got, len(want))
			}
		case <-bridgetest.Patient(t).Done():
			t.Fatalf("%s: the server has not heard of it", when)
		}
	}
	done("with the first folders")
	added.set("/b")
	b.TellRoots()
	learns("another folder", "/a", "/b")
	b.TellRoots()
	done("nothing has changed")
	added.set()
	done("a call after a change that nobody announced")
	learns("the folder is gone", "/a")
	b.TellRoots()
	done("no third notification")
}

// Servers of the SDK hear of other folders over each transport that has a handshake, which
// announces that.
func TestOtherFoldersOverEachTransport(t *testing.T) {
	for name, server := range ways(t) {
		if name == "http2026" {
			continue // it has no such notification
		}
		t.Run(name, func(t *testing.T) {
			var added folders
			b, s := open(t, &host{beside: added.list}, Options{Servers: []Server{server}})
			if _, err := call(t, toolOf(t, s, "echo"), `{"text":"x"}`); err != nil {
				t.Fatal(err)
			}
			added.set("/b")
			b.TellRoots()
			res, err := call(t, toolOf(t, s, "moved"), `{}`)
			if err != nil || res.Failed || !strings.Contains(text(res), `"roots":{"listChanged":true}`) {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}

// What a server learns while it starts is what holds when it runs.
func TestFoldersThatChangeDuringAStart(t *testing.T) {
	script := `initialize {"jsonrpc":"2.0","id":"r","method":"roots/list"}` + "\n" + bridgetest.Greeting +
		`notifications/roots/list_changed {"jsonrpc":"2.0","id":"s","method":"roots/list"}` + "\n" +
		`answer {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":$RESULT}}` + "\n" +
		bridgetest.OneTool("")
	said := make(chan string, 10)
	var added folders
	_, s := open(t, &host{meta: core.Meta{Roots: []string{"/a"}}, beside: added.list}, Options{
		Servers: []Server{{Name: "x", Endpoint: plays("script", "SCRIPT="+script)}},
		Log: func(_, _, text string) {
			if strings.HasPrefix(text, `{"roots"`) {
				added.set("/b")
				said <- text
			}
		},
	})
	toolOf(t, s, "t")
	var heard []string
	for range 2 {
		select {
		case text := <-said:
			heard = append(heard, text)
		case <-bridgetest.Patient(t).Done():
			t.Fatalf("the server has heard %s", heard)
		}
	}
	if strings.Contains(heard[0], "file:///b") || !strings.Contains(heard[1], "file:///b") {
		t.Errorf("the server has heard %s", heard)
	}
}
