package llm

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/core/coretest"
)

// What is read by comparing is what reading it alone gives, wherever the words of a
// text stand a second time and whatever comes in between.
func TestChatLikeness(t *testing.T) {
	plain := `{"id":"x","choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}`
	for name, format := range map[string]string{
		"plain":      plain,
		"elsewhere":  `{"x":{"content":"a"},"choices":[{"index":0,"delta":{"content": %s}}]}`,
		"twice":      `{"choices":[{"index":0,"delta":{"content":"a","content":%s}}]}`,
		"in a text":  `{"x":"\"content\":\"a\"","choices":[{"index":0,"delta":{"content":%s}}]}`,
		"message":    `{"choices":[{"index":0,"message":{"content":%s}}]}`,
		"second":     `{"choices":[{"index":1,"delta":{"content":"a"}},{"index":0,"delta":{"content":%s}}]}`,
		"reasoning":  `{"choices":[{"index":0,"delta":{"reasoning":"hm","content":%s}}]}`,
		"with usage": `{"choices":[{"index":0,"delta":{"content":%s}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			body, want := "", ""
			for i, piece := range []string{"a", "a", "b", "", `say "x"`, "c\\d", "é\u2028", "line\n", "tab\t", "a", "{", `"}`, "end"} {
				body += "data: " + fmt.Sprintf(format, quote(piece)) + "\n\n"
				want += piece
				if i == 6 {
					body += "data: " + fmt.Sprintf(plain, quote("between")) + "\n\n"
					want += "between"
				}
			}
			body += "data: " + finished("stop") + "\n\ndata: [DONE]\n\n"
			h := coretest.Hear(t.Context(), t, answered{chatFor("http://svc.test/v1"), strings.NewReader(body)}, coretest.ModelRequest(), nil)
			if h.Err != nil || h.Text != want {
				t.Errorf("%v\n got %q\nwant %q", h.Err, h.Text, want)
			}
		})
	}
	var l likeness
	for i := range 100 { // a service with something new in each event
		data := []byte(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":"a"}}],"pad":"%d"}`, i))
		l.learn(data, &wireChunk{Choices: []wireChoice{{Delta: wireMessage{Content: wireContent{text: "a"}}}}})
	}
	if l.misses != maxMisses+1 {
		t.Errorf("%d attempts", l.misses)
	}
}
