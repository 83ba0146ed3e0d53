package upstream

import (
	"fmt"
	"strings"
	"testing"
)

// Messages of a server whose version is a number become those of servers whose version is a date;
// an error without an id belongs to the oldest open request.
func TestEarlyEdge(t *testing.T) {
	e := new(early)
	ask := func(id int, method string) {
		e.Send(nil, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`, id, method))
	}
	ask(1, "tools/call")
	ask(2, "prompts/get")
	ask(3, "logging/setLevel")
	ask(4, "tools/list")
	ask(5, "tools/call")
	ask(6, "tools/call")
	for _, c := range [][2]string{
		{`{"id":2,"result":{"prompt":"Hi","x":1}}`, `{"id":2,"result":{"x":1,"messages":[{"content":{"text":"Hi","type":"text"},"role":"user"}]}}`},
		{`{"id":null,"error":{"code":-32000,"message":"no"}}`, `{"id":1,"error":{"code":-32000,"message":"no"}}`},
		{`{"id":3,"result":null}`, `{"id":3,"result":{}}`},
		{`{"error":{"code":-32000,"message":"what?"}}`, `{"error":{"code":-32000,"message":"what?"},"id":4}`},
		{`{"id":5,"result":{"output":"as text"}}`, `{"id":5,"result":{"content":[{"text":"as text","type":"text"}]}}`},
		{`{"id":6,"result":{"output":"as text","content":[]}}`, `{"id":6,"result":{"output":"as text","content":[]}}`},
		{`{"id":null,"error":{"code":-32000,"message":"nobody asked"}}`, `{"id":null,"error":{"code":-32000,"message":"nobody asked"}}`},
		{`{"method":"notifications/progress","params":{"output":"x"}}`, `{"method":"notifications/progress","params":{"output":"x"}}`},
	} {
		if got := string(e.Read([]byte(c[0]))); got != c[1] {
			t.Errorf("got  %s\nwant %s", got, c[1])
		}
	}
	for i := range 3 * earlyOpen {
		ask(i, "tools/list")
	}
	if len(e.open) != earlyOpen {
		t.Errorf("%d ids are kept", len(e.open))
	}
	if got := string(e.Send(nil, []byte(`{"method":"x"}`))); strings.Count(got, "\n") != 1 {
		t.Errorf("sent %q", got)
	}
}
