package codec

import (
	"bytes"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/jsonscan"
)

// Blocks with data are stored as encoding/json writes them, and room is made once for large data.
func TestDataIsStoredAsJSON(t *testing.T) {
	large := bytes.Repeat([]byte("picture"), largeData)
	for _, tt := range []struct {
		kind  string
		block core.Block
	}{
		{"image", core.Image{}},
		{"image", core.Image{Data: []byte("a")}},
		{"image", core.Image{MIME: "image/png", Data: []byte("ab<"), URI: "file:///a?b&c"}},
		{"image", core.Image{MIME: "image/png", Data: large}},
		{"audio", core.Audio{}},
		{"audio", core.Audio{MIME: "audio/\"wav\"", Data: []byte("abc")}},
		{"resource", core.Resource{}},
		{"resource", core.Resource{URI: "u:é\n", MIME: "text/plain", Text: "<a>\t\u2028"}},
		{"resource", core.Resource{URI: "u:a", Blob: large, Lines: [2]int{1, 20}}},
	} {
		body, err := jsonscan.Append(nil, tt.block)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(`{"type":"`+tt.kind+`",`+string(body[1:]), ",}", "}", 1)
		if got := appendBlock(nil, tt.block); string(got) != want {
			t.Errorf("got %.200s, want %.200s", got, want)
		}
	}
}

// TestBudgetData has room made once for all pictures of a prompt.
func TestBudgetData(t *testing.T) {
	if coretest.Race {
		t.Skip("the race detector allocates")
	}
	blocks := []core.Block{
		core.Image{Data: make([]byte, 1<<20), URI: "u:a"}, core.Text{Text: "what is it?"}, core.Image{Data: make([]byte, 1<<20), URI: "u:b"}, core.Text{Text: "and this?"},
	}
	if n := testing.AllocsPerRun(5, func() { AppendBlocks(nil, blocks) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
