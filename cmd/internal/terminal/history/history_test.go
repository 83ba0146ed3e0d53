package history

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestHistoryIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	h := In(dir)
	if err := h.Load(); err != nil || len(h.Prompts()) != 0 {
		t.Fatal(h.Prompts(), err)
	}
	for _, p := range []string{"one", "two\nlines", " not kept", strings.Repeat("x", maxPrompt+1), "one"} {
		if err := h.Add(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	again := In(dir)
	if err := again.Load(); err != nil || !slices.Equal(again.Prompts(), []string{"two\nlines", "one"}) || !slices.Equal(h.Prompts(), again.Prompts()) {
		t.Errorf("%q, %q, %v", again.Prompts(), h.Prompts(), err)
	}
	if info, err := os.Stat(filepath.Join(dir, "chat-history.json")); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Chats that add prompts at the same time lose none.
func TestChatsAtOnce(t *testing.T) {
	dir := t.TempDir()
	var chats sync.WaitGroup
	for n := range 4 {
		chats.Go(func() {
			h := In(dir)
			for i := range 5 {
				if err := h.Add(t.Context(), fmt.Sprint(n, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	chats.Wait()
	h := In(dir)
	if err := h.Load(); err != nil || len(h.Prompts()) != 20 {
		t.Errorf("%q, %v", h.Prompts(), err)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	var list []string
	for i := range maxPrompts + 10 {
		list = with(list, fmt.Sprint(i))
	}
	if len(list) != maxPrompts || list[0] != "10" {
		t.Errorf("%d prompts from %s", len(list), list[0])
	}
	for i := range 20 {
		list = with(list, fmt.Sprint(i)+strings.Repeat("x", maxPrompt-10))
	}
	if len(list) != 16 {
		t.Errorf("%d long prompts", len(list))
	}
}
