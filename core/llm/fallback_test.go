package llm

import (
	"errors"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

func TestFallback(t *testing.T) {
	turn := func(match, response string) core.Model {
		return playerOf(t, `{"fixtures":[{"match":{"userMessage":`+quote(match)+`},`+response+`}]}`, nil)
	}
	down := turn("go", `"response":{"error":{"message":"down"},"status":503}`)
	fine := turn("go", `"response":{"content":"fine"}`)
	cut := turn("go", `"chunkSize":1,"truncateAfterChunks":1,"response":{"content":"ab"}`)
	long := turn("go", `"response":{"error":{"message":"the prompt is too long for the context window"},"status":400}`)
	if Fallback(fine) != fine {
		t.Error("one model is not itself")
	}
	for _, tt := range []struct {
		name   string
		models []core.Model
		text   string
		kind   core.ModelErrorKind
		told   int // how often another model is asked
	}{
		{"the first answers", []core.Model{fine, down}, "fine", "", 0},
		{"the second answers", []core.Model{down, fine}, "fine", "", 1},
		{"the third answers", []core.Model{down, down, fine}, "fine", "", 2},
		{"none answers", []core.Model{down, down}, "", core.ErrOverloaded, 1},
		{"an answer that broke off stays", []core.Model{cut, fine}, "a", core.ErrTruncated, 0},
		{"too long for one is for the user", []core.Model{long, fine}, "", core.ErrContextLength, 0},
	} {
		h := coretest.Hear(t.Context(), t, Fallback(tt.models[0], tt.models[1:]...), coretest.ModelRequest(), nil)
		if len(h.Instead) != tt.told {
			t.Errorf("%s: told of %q", tt.name, h.Instead)
		}
		var e *core.ModelError
		if errors.As(h.Err, &e); h.Text != tt.text || (e == nil) != (tt.kind == "") || e != nil && e.Kind != tt.kind {
			t.Errorf("%s: %q, %v", tt.name, h.Text, h.Err)
		}
		if tt.name == "none answers" && strings.Count(h.Err.Error(), "down") != 2 {
			t.Errorf("not all is said: %v", h.Err)
		}
	}
}
