package upstream

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// Lists that come at the same time are pinned, each on its own.
func TestListsAtTheSameTime(t *testing.T) {
	box := New(Options{Servers: []Server{{Name: "up"}}, PinFile: filepath.Join(t.TempDir(), "pins.json")})
	e, _ := box.Export("up", nil)
	v := e.View(nil)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			list := fmt.Sprintf(`{"tools":[{"name":"a","description":"x"},{"name":"t%d"}]}`, i)
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
