package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"dragoman/core/datadir"
)

// Concurrent lists are pinned, each separately.
func TestConcurrentLists(t *testing.T) {
	box := New(Options{Servers: []Server{{Name: "up"}}, PinFile: filepath.Join(t.TempDir(), "pins.json")})
	e, _ := box.Export("up", nil)
	v := e.View(nil)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			list := fmt.Sprintf(`{"tools":[{"name":"a","description":"x","inputSchema":{"type":"object"}},{"name":"t%d","inputSchema":{"type":"object"}}]}`, i)
			if got := string(v.Shown("", json.RawMessage(list))); got != list {
				t.Errorf("%s became %s", list, got)
			}
		})
	}
	wg.Wait()
	if names := box.pins.names("up"); len(names) != 21 {
		t.Errorf("pinned: %v", names)
	}
}

// A list is known once it is pinned: a call that is judged earlier would have nothing to compare
// with.
func TestListIsKnownOncePinned(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pins.json")
	box := New(Options{Servers: []Server{{Name: "up"}}, PinFile: file})
	e, _ := box.Export("up", nil)
	v := e.View(nil)
	held, err := datadir.WaitLock(t.Context(), file+".lock") // another process changes the file
	if err != nil {
		t.Fatal(err)
	}
	known := make(chan error)
	go func() {
		known <- v.Know(t.Context(), func(context.Context, string) (json.RawMessage, error) {
			return json.RawMessage(`{"tools":[{"name":"a"}]}`), nil
		})
	}()
	for range 1000 {
		runtime.Gosched()
		if v.Known() {
			t.Error("the list is known, and nothing is pinned")
			break
		}
	}
	if err := errors.Join(held.Unlock(), <-known); err != nil {
		t.Fatal(err)
	}
	if names := box.pins.names("up"); !v.Known() || len(names) != 1 {
		t.Errorf("known %v, pinned %v", v.Known(), names)
	}
}

// Who needs the tools waits for a list that is being requested, unless the tools have changed since it
// began. An older list does not replace a newer one.
func TestListThatChangesWhileItIsRequested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := New(Options{Servers: []Server{{Name: "up"}}, PinFile: filepath.Join(t.TempDir(), "pins.json")})
		e, _ := box.Export("up", nil)
		v := e.View(nil)
		tool := `{"name":"a","inputSchema":{"type":"object"}}`
		asked, answers := 0, make(chan struct{})
		know := func(then func()) (done chan struct{}) {
			done = make(chan struct{})
			go func() {
				defer close(done)
				if err := v.Know(t.Context(), func(context.Context, string) (json.RawMessage, error) {
					asked++
					list := json.RawMessage(`{"tools":[` + tool + `]}`)
					<-answers
					return list, nil
				}); err != nil {
					t.Error(err)
				}
				then()
			}()
			synctest.Wait()
			return done
		}
		refused := func() {
			if _, err := v.Rule(Call{Tool: "a"}); err == nil {
				t.Error("a changed tool may be called")
			}
		}
		at := v.Changes()
		first, second := know(func() {}), know(func() {})
		answers <- struct{}{}
		<-first
		<-second
		v.Stale()
		first = know(func() {})
		old := json.RawMessage(tool)
		tool = `{"name":"a","description":"evil","inputSchema":{"type":"object"}}`
		v.Stale()
		second, third := know(refused), know(refused)
		close(answers)
		<-first
		<-second
		<-third
		if asked != 3 {
			t.Errorf("%d lists", asked)
		}
		v.Agreed([]json.RawMessage{old}, at)
		if refused(); !v.Known() {
			t.Error("an older list has replaced the list")
		}
	})
}

// A request may be repeated if it only reads, or if its tool is annotated as such in the last
// list.
func TestRepeatableRequests(t *testing.T) {
	e, _ := New(Options{Servers: []Server{{Name: "up"}}}).Export("up", nil)
	v := e.View(nil)
	v.Shown("", json.RawMessage(`{"tools":[{"name":"looks","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},`+
		`{"name":"sets","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}},`+
		`{"name":"acts","inputSchema":{"type":"object"},"annotations":{"idempotentHint":false}},{"name":"plain","inputSchema":{"type":"object"}}]}`))
	for _, c := range []struct {
		method, tool string
		want         bool
	}{
		{"tools/call", "looks", true},
		{"tools/call", "sets", true},
		{"tools/call", "acts", false},
		{"tools/call", "plain", false},
		{"tools/call", "unknown", false},
		{"prompts/get", "", true},
		{"resources/read", "", true},
		{"tasks/cancel", "", false},
		{"a/method/of/its/own", "", false},
	} {
		if got := v.MayRepeat(c.method, c.tool); got != c.want {
			t.Errorf("%s %s: %v", c.method, c.tool, got)
		}
	}
}
