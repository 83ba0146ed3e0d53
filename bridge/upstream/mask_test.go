package upstream

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"dragoman/core"
	"dragoman/core/board"
)

// The keys in the output of a failing server are hidden.
func TestKeysOfServersAreHidden(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	var mu sync.Mutex
	var told strings.Builder
	h := &host{meta: core.Meta{Cwd: t.TempDir()}, board: board.New()}
	open(t, h, Options{
		Environ: os.Environ(),
		Log: func(_, _, text string) {
			mu.Lock()
			defer mu.Unlock()
			told.WriteString(text + "\n")
		},
		Servers: []Server{{Name: "x", Endpoint: func(context.Context) (Endpoint, error) {
			return Endpoint{Command: "sh", Args: []string{"-c", "echo key $KEY is bad >&2; exit 1"}, Env: map[string]string{"KEY": "very-secret"}}, nil
		}}},
	})
	item := awaitStatus(t, h.board, "x", "failed")
	mu.Lock()
	defer mu.Unlock()
	if all := told.String() + item.Why; strings.Contains(all, "very-secret") || !strings.Contains(told.String(), "key *** is bad") || !strings.Contains(item.Why, "key *** is bad") {
		t.Errorf("told\n%s\nwhy: %s", told.String(), item.Why)
	}
}
