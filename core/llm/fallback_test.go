package llm

import (
	"errors"
	"strings"
	"testing"

	"dragoman/core/coretest"
	"dragoman/core/inference"
)

func TestFallback(t *testing.T) {
	turn := func(match, response string) inference.Model {
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
		models []inference.Model
		text   string
		kind   inference.ErrorKind
		others int // how often another model is asked
	}{
		{"the first answers", []inference.Model{fine, down}, "fine", "", 0},
		{"the second answers", []inference.Model{down, fine}, "fine", "", 1},
		{"the third answers", []inference.Model{down, down, fine}, "fine", "", 2},
		{"none answers", []inference.Model{down, down}, "", inference.ErrOverloaded, 1},
		{"an answer that broke off stays", []inference.Model{cut, fine}, "a", inference.ErrTruncated, 0},
		{"too long for one is for the user", []inference.Model{long, fine}, "", inference.ErrContextLength, 0},
	} {
		h := coretest.Hear(t.Context(), t, Fallback(tt.models[0], tt.models[1:]...), coretest.ModelRequest(), nil)
		if len(h.Instead) != tt.others {
			t.Errorf("%s: announced %q", tt.name, h.Instead)
		}
		var e *inference.Error
		if errors.As(h.Err, &e); h.Text != tt.text || (e == nil) != (tt.kind == "") || e != nil && e.Kind != tt.kind {
			t.Errorf("%s: %q, %v", tt.name, h.Text, h.Err)
		}
		if tt.name == "none answers" && strings.Count(h.Err.Error(), "down") != 2 {
			t.Errorf("not all is said: %v", h.Err)
		}
	}
}
