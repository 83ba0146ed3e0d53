package upstream

import (
	"strings"
	"testing"

	"dragoman/adapters/wire"
	"dragoman/bridge/bridgetest"
)

// An answer over the limit of one message ends the call with an error, and the connection
// continues.
func TestAnswerOverTheLimitEndsTheCall(t *testing.T) {
	t.Parallel()
	s := scripted(t, &host{}, bridgetest.Greeting+bridgetest.OneTool("")+"tools/call#1 huge\n"+bridgetest.ToolDone)
	tool := toolOf(t, s, "t")
	if res, err := call(t, tool, `{}`); err != nil || !res.Failed || !strings.Contains(text(res), "exceeds 64 MiB") {
		t.Errorf("%.300q, %v", text(res), err)
	}
	if res, err := call(t, tool, `{}`); err != nil || text(res) != "done" {
		t.Errorf("the next call: %.300q, %v", text(res), err)
	}
}

// The id of an answer is found in the places where programs write it, and never within a result.
func TestIDOfAnAnswerOverTheLimit(t *testing.T) {
	long := strings.Repeat("x", 10<<10)
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"result":{"text":"` + long + `"}}`:                           `7`,
		`{ "id" : "a\"b" , "jsonrpc":"2.0", "result":{"text":"` + long + `"}}`:                `"a\"b"`,
		`{"result":{"text":"` + long + `"},"jsonrpc":"2.0","id":7}`:                           `7`,
		`{"result":{"text":"` + long + `"},"id":"x","jsonrpc":"2.0"}`:                         `"x"`,
		`{"result":{"text":"` + long + `","id":7}}`:                                           ``,
		`{"result":{"id":7,"text":"` + long + `"},"jsonrpc":"2.0"}`:                           ``,
		`{"jsonrpc":"2.0","id":7,"method":"roots/list","params":{"text":"` + long + `"}}`:     ``,
		`{"jsonrpc":"2.0","id":null,"result":{"text":"` + long + `"}}`:                        ``,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"text":"` + long + `"}}`: ``,
	} {
		frames := wire.Lines(strings.NewReader(line+"\n{}\n"), 8<<10)
		_, err := frames.Next()
		fault, ok := err.(*wire.FrameError) //nolint:errorlint // as it is returned
		if !ok {
			t.Fatalf("%.60s: %v", line, err)
		}
		tail := frames.(wire.Skipper).Skip()
		if got := string(answerID(fault.Head, tail)); got != want {
			t.Errorf("%.60s…%s: id %q, want %q", line, line[len(line)-30:], got, want)
		}
		if next, err := frames.Next(); string(next) != "{}" || err != nil {
			t.Errorf("%.60s: then %q, %v", line, next, err)
		}
	}
}
