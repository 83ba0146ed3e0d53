package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/adapters/wire"

	"github.com/creachadair/jrpc2"
)

func TestParse(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		in   string
		want string // the message in brief, or the error
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}`, `request 1 m {"a":1}`},
		{`{"id":0,"method":"m"}`, `request 0 m`},
		{`{"id":9007199254740993,"method":"m"}`, `request 9007199254740993 m`},
		{`{"id":1.5,"method":"m"}`, `request 1.5 m`},
		{`{"id":-1e400,"method":"m"}`, `request -1e400 m`},
		{`{"id":"","method":"m"}`, `request "" m`},
		{`{"id":"s\u00e9","method":"m"}`, `request "s\u00e9" m`},
		{`{"method":"m","params":[1]}`, `notification m [1]`},
		{`{"method":"m","params":null}`, `notification m`},
		{`{"id":null,"method":"m"}`, `notification m, null id`},
		{` {"method" : "m" ,` + "\n\t" + `"id" : 1 } `, `request 1 m`},
		{`{"method":"m","x":{"id":1},"Id":2,"METHOD":"n","paramſ":[]}`, `notification m`},
		{`{"m\u0065thod":"\u006d\n\ud800"}`, "notification m\n\ufffd"},
		{`{"id":1,"result":null}`, `response 1 null`},
		{`{"id":1,"result":{},"error":null}`, `response 1 {}`},
		{`{"id":"a","error":{"code":1}}`, `response "a" ! {"code":1}`},
		{`{"id":null,"error":{"code":-32700}}`, `response null ! {"code":-32700}`},
		{`{"id":1,"method":"m","params":` + deep(wire.MaxDepth-1) + `}`, `request 1 m ` + deep(wire.MaxDepth-1)},

		{``, `-32700 null`},
		{`{broken`, `-32700 null`},
		{`{"id":1,"method":"m"`, `-32700 null`},
		{`{"id":1}{"id":2}`, `-32700 null`},
		{"{\"id\":1,\"method\":\"\xff\"}", `-32700 null`},
		{"{\"id\":1,\"method\":\"\x00\"}", `-32700 null`},
		{"\xef\xbb\xbf{\"id\":1}", `-32700 null`},
		{`{"id":NaN,"method":"m"}`, `-32700 null`},
		{`{"id":1,"method":"m","params":` + deep(200_000) + `}`, `-32700 null`},

		{`42`, `-32600 null`},
		{`"x"`, `-32600 null`},
		{`[]`, `-32600 null`},
		{`{}`, `-32600 null`},
		{`{"id":1}`, `-32600 1`},
		{`{"ID":3,"Method":"m"}`, `-32600 null`},
		{`{"Method":"m","id":3}`, `-32600 3`},
		{`{"method":"m","id":{}}`, `-32600 null`},
		{`{"method":"m","id":true}`, `-32600 null`},
		{`{"method":5,"id":1}`, `-32600 1`},
		{`{"method":"","id":1}`, `-32600 1`},
		{`{"method":null,"id":1}`, `-32600 1`},
		{`{"method":"m","params":"p","id":1}`, `-32600 1`},
		{`{"method":"m","params":0,"id":1}`, `-32600 1`},
		{`{"jsonrpc":"1.0","method":"m","id":1}`, `-32600 1`},
		{`{"jsonrpc":2.0,"method":"m","id":1}`, `-32600 1`},
		{`{"method":"m","method":"n","id":1}`, `-32600 1`},
		{`{"method":"m","m\u0065thod":"m","id":1}`, `-32600 1`},
		{`{"id":1,"id":1,"method":"m"}`, `-32600 1`},
		{`{"id":1,"method":"m","params":[],"params":[]}`, `-32600 1`},
		{`{"id":1,"method":"m","result":1}`, `-32600 1`},
		{`{"id":1,"method":"m","params":` + deep(wire.MaxDepth) + `}`, `-32600 1`},
		{`{"method":"m","params":` + deep(9990) + `,"id":1}`, `-32600 null`},
		{`{"id":1,"result":1,"error":{}}`, `-32600 1 response`},
		{`{"result":1}`, `-32600 null response`},
		{`{"error":{"code":1}}`, `-32600 null response`},
	} {
		m, err := wire.Parse([]byte(c.in))
		if got := brief(m, err); got != c.want {
			t.Errorf("%.100s\n got %.100s (%v)\nwant %.100s", c.in, got, err, c.want)
		}
	}
}

func brief(m wire.Message, err error) string {
	id := "null"
	if m.ID != nil {
		id = string(m.ID)
	}
	if err != nil {
		e, ok := errors.AsType[*jrpc2.Error](err)
		if !ok {
			return "not a *jrpc2.Error"
		}
		s := fmt.Sprintf("%d %s", e.Code, id)
		if m.Kind() == wire.Response {
			s += " response"
		}
		return s
	}
	switch m.Kind() {
	case wire.Request:
		return strings.TrimSpace(fmt.Sprintf("request %s %s %s", id, m.Method, m.Params))
	case wire.Notification:
		s := strings.TrimSpace(fmt.Sprintf("notification %s %s", m.Method, m.Params))
		if m.HasID {
			s += ", null id"
		}
		return s
	case wire.Response:
		if m.Error != nil {
			return fmt.Sprintf("response %s ! %s", id, m.Error)
		}
		return fmt.Sprintf("response %s %s", id, m.Result)
	}
	return "?"
}

func TestParseNotesTheVersion(t *testing.T) {
	for in, want := range map[string]bool{`{"method":"m"}`: false, `{"jsonrpc":"2.0","method":"m"}`: true, `{"jsonrpc":"2\u002e0","method":"m"}`: true} {
		if m, err := wire.Parse([]byte(in)); err != nil || m.Versioned != want {
			t.Errorf("%s: %v, %v", in, m.Versioned, err)
		}
	}
}

// FuzzParse holds Parse against encoding/json: the same texts are JSON, and the members are the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,{"b":"\"]}"}]}}`, `{"id":"\\","result":null}`, `{"id":null,"error":{"code":1}}`,
		`{"Method":"m","method":"n"}`, `{"method":"m","\u006dethod":"n"}`, ` [ ] `, `{}`, `{"id":1e5,"method":"\ud800"}`, `{"a":{"b":[[[]]]},"method":"m"}`, "{\"method\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := wire.Parse(in)
		e, _ := errors.AsType[*jrpc2.Error](err)
		if valid := json.Valid(in) && utf8.Valid(in); valid != (e == nil || e.Code != jrpc2.ParseError) {
			t.Fatalf("JSON: %v, Parse: %v", valid, err)
		}
		if e != nil && e.Code == jrpc2.ParseError {
			if m.ID != nil || m.Kind() == wire.Response {
				t.Errorf("%+v out of no JSON", m)
			}
			return
		}
		want, twice, object := topLevel(in)
		if err == nil && (!object || twice) {
			t.Fatalf("accepted %q", in)
		}
		if err != nil {
			return
		}
		for _, c := range []struct {
			name string
			got  json.RawMessage
		}{{"id", m.ID}, {"params", m.Params}, {"result", m.Result}, {"error", m.Error}} {
			w := want[c.name]
			if string(w) == "null" && c.name != "result" {
				w = nil
			}
			if !bytes.Equal(w, c.got) {
				t.Errorf("%s: got %s, want %s", c.name, c.got, w)
			}
		}
		var method string
		json.Unmarshal(want["method"], &method)
		if method != m.Method {
			t.Errorf("method: got %q, want %q", m.Method, method)
		}
	})
}

// topLevel takes an object apart with encoding/json, and says whether an envelope has a duplicate member.
func topLevel(in []byte) (members map[string]json.RawMessage, twice, object bool) {
	d := json.NewDecoder(bytes.NewReader(in))
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return nil, false, false
	}
	members = map[string]json.RawMessage{}
	for d.More() {
		tok, err := d.Token()
		if err != nil {
			return nil, false, false
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return nil, false, false
		}
		key := tok.(string)
		switch key {
		case "jsonrpc", "id", "method", "params", "result", "error":
			if members[key] != nil {
				twice = true
			}
		}
		members[key] = raw
	}
	return members, twice, true
}

func TestAppendWholeMessages(t *testing.T) {
	dst := []byte("before\n")
	got, err := wire.AppendNotification(dst, "a/\"b\"", map[string]string{"c": "<d>"})
	if want := "before\n" + `{"jsonrpc":"2.0","method":"a/\"b\"","params":{"c":"<d>"}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := wire.AppendNotification(dst, "a", func() {}); err == nil || string(got) != "before\n" {
		t.Errorf("%s, %v", got, err)
	}
	if got := string(wire.AppendAnswer(nil, nil, nil, jrpc2.Errorf(-32700, "bad"))); got != `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}` {
		t.Error(got)
	}
	if got := string(wire.AppendAnswer(nil, json.RawMessage(`"x"`), nil, nil)); got != `{"jsonrpc":"2.0","id":"x","result":null}` {
		t.Error(got)
	}
}
