package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/wire"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"
)

type openParams struct {
	SessionID string            `json:"sessionId"`
	Limit     int               `json:"limit,omitempty"`
	Env       map[string]string `json:"env"`
	Blocks    []block           `json:"blocks"`
	Meta      json.RawMessage   `json:"_meta"`
	Inner     *inner            `json:"inner"`
	hidden    string            //nolint:unused // must not be reached from JSON
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type inner struct {
	common
	On      bool             `json:"on"`
	More    map[string]inner `json:"more"`
	Started time.Time        `json:"started"`
	Skipped string           `json:"-"`
}

type common struct {
	Name string `json:"name"`
}

func TestMethods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var later []*wire.Call
		methods := wire.Table(handler.Map{
			"table": handler.New(func(_ context.Context, p openParams) (string, error) { return p.SessionID, nil }),
		})
		methods["sync"] = wire.Sync(wire.Func(func(ctx context.Context, p openParams) (string, error) {
			if p.SessionID == "" {
				return "", jrpc2.Errorf(-32002, "unknown session").WithData(p.Limit)
			}
			return p.SessionID, ctx.Err()
		}))
		methods["none"] = wire.Sync(handler.New(func(context.Context) error { return nil }))
		methods["async"] = wire.Async(func(c *wire.Call, p openParams) error {
			if p.SessionID == "" {
				return errors.New("which session?")
			}
			later = append(later, c)
			return nil
		})
		methods["answer"] = wire.Async(func(*wire.Call, struct{}) error {
			for _, c := range later {
				c.Reply("later", nil)
			}
			return nil
		})
		_, p, stop := serve(t, wire.Options{}, func(_ *wire.Conn, c *wire.Call) { methods.Handle(c) })
		play(t, p, `-> {"id":1,"method":"sync","params":{"sessionId":"s","more":1}}
<- {"jsonrpc":"2.0","id":1,"result":"s"}
-> {"id":2,"method":"sync"}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"unknown session","data":0}}
-> {"id":3,"method":"sync","params":null}
<- {"jsonrpc":"2.0","id":3,"error":{"code":-32002,"message":"unknown session","data":0}}
-> {"id":4,"method":"sync","params":{"sessionId":5}}
<- {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"invalid params: sessionId: expected a string, got number"}}
-> {"id":5,"method":"sync","params":["s"]}
<- {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"invalid params: expected an object, got array"}}
-> {"id":6,"method":"table","params":{"sessionId":"s"}}
<- {"jsonrpc":"2.0","id":6,"result":"s"}
-> {"id":7,"method":"table","params":{"SessionId":"x","sessionId":"y"}}
<- {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"invalid params: duplicate member \"sessionId\" (compared without case)"}}
-> {"id":7,"method":"table","params":{"sessionId":5}}
<- {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"invalid params: cannot unmarshal number into Go struct field openParams.sessionId of type string"}}
-> {"id":8,"method":"none"}
<- {"jsonrpc":"2.0","id":8,"result":null}
-> {"id":9,"method":"async","params":{"sessionId":"s"}}
-> {"id":10,"method":"async"}
<- {"jsonrpc":"2.0","id":10,"error":{"code":-32603,"message":"which session?"}}
-> {"method":"answer"}
<- {"jsonrpc":"2.0","id":9,"result":"later"}
-> {"id":11,"method":"Sync"}
<- {"jsonrpc":"2.0","id":11,"error":{"code":-32601,"message":"method not found: \"Sync\""}}
-> {"method":"unheard"}
-> {"method":"sync","params":{"sessionId":5}}
-> {"id":12,"method":"none","params":{}}
<- {"jsonrpc":"2.0","id":12,"error":{"code":-32602,"message":"no parameters accepted"}}
`)
		stop()
	})
}

func TestUnmarshalIsExact(t *testing.T) {
	for _, c := range []struct {
		in   string
		want string // the value, or "! " and the error
	}{
		{`{"sessionId":"y"}`, `{"sessionId":"y"}`},
		{`{"SessionId":"x","sessionId":"y"}`, `{"sessionId":"y"}`},
		{`{"sessionId":"y","SessionId":"x","SESSIONID":"z"}`, `{"sessionId":"y"}`},
		{`{"SessionId":"x"}`, `{}`},
		{`{"ſessionId":"x"}`, `{}`},
		{`{"sessionId":"y","\u0053essionId":"x"}`, `{"sessionId":"y"}`},
		{`{"\u0073essionId":"y"}`, `{"sessionId":"y"}`},
		{`{"sessionId":"y","sessionId":"x"}`, `! duplicate member sessionId`},
		{`{"sessionId":"y","\u0073essionId":"x"}`, `! duplicate member sessionId`},
		{`{"Hidden":"x","hidden":"y"}`, `{}`},
		// Data of the caller's own keeps its names.
		{`{"env":{"Path":"a","PATH":"b"}}`, `{"env":{"PATH":"b","Path":"a"}}`},
		{`{"_meta":{"a":1,"A":2,"a":3}}`, `{"_meta":{"a":1,"A":2,"a":3}}`},
		{`{"x":{"limit":1,"Limit":2}}`, `{}`},
		// Inside of slices, maps, pointers and embedded structs.
		{`{"blocks":[{"type":"text","Type":"image","Text":"x"},{"TYPE":"a"}]}`, `{"blocks":[{"type":"text"},{}]}`},
		{`{"inner":{"name":"n","Name":"m","On":true,"more":{"On":{"on":true,"oN":false}}}}`, `{"inner":{"name":"n","more":{"On":{"on":true}}}}`},
		{`{"inner":{"Skipped":"x","started":"2026-01-02T03:04:05Z"}}`, `{"inner":{"started":"2026-01-02T03:04:05Z"}}`},
		{`{"inner":null,"blocks":null}`, `{}`},
		{` { "Limit" : 3 , "limit" : 4 } `, `{"limit":4}`},

		{`{"blocks":[{"text":1}]}`, `! blocks.text: expected a string, got number`},
		{`{"blocks":{}}`, `! blocks: expected an array, got object`},
		{`{"inner":[]}`, `! inner: expected an object, got array`},
		{`{"inner":{"on":"yes"}}`, `! inner.on: expected true or false, got string`},
		{`{"limit":1.5}`, `! limit: expected an integer of 64 bits, got number 1.5`},
		{`{"limit":1e30}`, `! limit: expected an integer of 64 bits, got number 1e30`},
		{`[]`, `! expected an object, got array`},
		{`"x"`, `! expected an object, got string`},
		{`{`, `! not valid JSON`},
		{``, `! not valid JSON`},
	} {
		var p openParams
		got := ""
		if err := wire.Unmarshal([]byte(c.in), &p); err != nil {
			got = "! " + err.Error()
		} else {
			got = compact(p)
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// compact writes the fields of p that are set.
func compact(p openParams) string {
	b, _ := json.Marshal(p)
	s := string(b)
	for _, empty := range []string{
		`"sessionId":""`, `"env":null`, `"blocks":null`, `"_meta":null`, `"inner":null`, `"text":""`, `"type":""`, `"name":""`, `"more":null`, `"on":false`,
		`"started":"0001-01-01T00:00:00Z"`,
	} {
		s = strings.ReplaceAll(s, empty+",", "")
		s = strings.ReplaceAll(s, ","+empty, "")
		s = strings.ReplaceAll(s, empty, "")
	}
	return s
}

// union decodes itself, as generated unions do: by a discriminator, into a variant.
type union struct {
	Text  *unionText  `json:"-"`
	Image *unionImage `json:"-"`
}

type unionText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type unionImage struct {
	Type string `json:"type"`
	Data string `json:"data"`
	Text inner  `json:"text"`
}

func (u *union) UnmarshalJSON(b []byte) error {
	var kind struct{ Type string }
	if err := json.Unmarshal(b, &kind); err != nil {
		return err
	}
	switch kind.Type {
	case "text":
		u.Text = new(unionText)
		return json.Unmarshal(b, u.Text)
	case "image":
		u.Image = new(unionImage)
		return json.Unmarshal(b, u.Image)
	}
	return fmt.Errorf("unknown type %q", kind.Type)
}

func TestUnmarshalSeesIntoUnions(t *testing.T) {
	var got []union
	in := `[{"type":"text","Type":"image","text":"a","Text":"b"},{"DATA":"x","type":"image","data":"y"}]`
	if err := wire.Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	want := []union{{Text: &unionText{"text", "a"}}, {Image: &unionImage{Type: "image", Data: "y"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v %+v", got[0].Text, got[1].Image)
	}
	if err := wire.Unmarshal([]byte(`[{"type":"video"}]`), &got); err == nil || err.Error() != `unknown type "video"` {
		t.Error(err)
	}
}

func TestUnmarshalIntoAnything(t *testing.T) {
	var raw json.RawMessage
	var v any
	var n int
	for _, p := range []any{&raw, &v, &n} {
		if err := wire.Unmarshal([]byte(`5`), p); err != nil {
			t.Error(err)
		}
	}
	if string(raw) != "5" || v != 5.0 || n != 5 {
		t.Error(raw, v, n)
	}
	if wire.Unmarshal([]byte(`5`), nil) == nil || wire.Unmarshal([]byte(`5`), n) == nil {
		t.Error("decoded into nothing")
	}
	type list struct {
		Next *list `json:"next"`
		N    int   `json:"n"`
	}
	var l list
	if err := wire.Unmarshal([]byte(`{"n":1,"N":9,"next":{"n":2,"N":9,"next":{"N":9}}}`), &l); err != nil || l.N != 1 || l.Next.N != 2 || l.Next.Next.N != 0 {
		t.Error(err, l)
	}
	deep := strings.Repeat(`{"next":`, 5000) + "null" + strings.Repeat("}", 5000)
	if err := wire.Unmarshal([]byte(deep), &l); err == nil {
		t.Error("deep nesting was accepted")
	}
}

// FuzzUnmarshal holds exact decoding against encoding/json: where each name stands once, as it is written in the type, or
// is unknown, they agree; and a folded name never has an effect.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{`{"sessionId":"y"}`, `{"SessionId":"x","sessionId":"y"}`, `{"blocks":[{"Type":"x"}]}`, `{"inner":{"more":{"a":{"oN":true}}}}`, `{"limit":"x"}`, `[]`, `{"env":{"A":"b","a":"c"}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var got, want openParams
		err := wire.Unmarshal(in, &got)
		if !json.Valid(in) {
			if err == nil {
				t.Fatalf("accepted %q", in)
			}
			return
		}
		if err != nil {
			return
		}
		if err := json.Unmarshal(exactly(in), &want); err != nil {
			t.Fatalf("%q: encoding/json says %v", in, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", in, got, want)
		}
	})
}

// exactly rewrites the JSON of openParams without names that encoding/json would fold, by way of generic values.
func exactly(in []byte) []byte {
	var v any
	json.Unmarshal(in, &v)
	keep := func(v any, names ...string) map[string]any {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		for k := range m {
			known := false
			for _, n := range names {
				known = known || n == k
			}
			if !known {
				delete(m, k)
			}
		}
		return m
	}
	var inner func(v any)
	inner = func(v any) {
		if m := keep(v, "name", "on", "more", "started"); m != nil {
			if more, ok := m["more"].(map[string]any); ok {
				for _, e := range more {
					inner(e)
				}
			}
		}
	}
	if m := keep(v, "sessionId", "limit", "env", "blocks", "inner"); m != nil {
		if list, ok := m["blocks"].([]any); ok {
			for _, e := range list {
				keep(e, "type", "text")
			}
		}
		inner(m["inner"])
		var raw map[string]json.RawMessage
		json.Unmarshal(in, &raw)
		out, _ := json.Marshal(m)
		if meta, ok := raw["_meta"]; ok {
			var all map[string]json.RawMessage
			json.Unmarshal(out, &all)
			head := `{"_meta":` + string(meta)
			for k, e := range all {
				head += fmt.Sprintf(",%q:%s", k, e)
			}
			return []byte(head + "}")
		}
		return out
	}
	return in
}

// Parameters with many names are searched for names that differ only in case too.
func TestAmbiguousParams(t *testing.T) {
	h := wire.Sync(func(context.Context, *jrpc2.Request) (any, error) { return "ok", nil })
	for n, twice := range map[int]bool{5: false, 6: true, 16: true, 17: true, 40: false, 41: true} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":{"a":1,"A":2},`, i)
		}
		last := "other"
		if twice {
			last = "\u212A1" // the sign for Kelvin folds to k
		}
		params := fmt.Sprintf(`{%s"%s":0}`, b.String(), last)
		synctest.Test(t, func(t *testing.T) {
			_, p, stop := serve(t, wire.Options{}, func(_ *wire.Conn, c *wire.Call) {
				if err := h(c); (err != nil) != twice {
					t.Errorf("%d names: %v", n, err)
				}
			})
			p.Send(`{"method":"m","params":` + params + `}`)
			synctest.Wait()
			stop()
		})
	}
}
