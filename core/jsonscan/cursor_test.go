package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"dragoman/core/jsonscan"
)

func TestCursor(t *testing.T) {
	c := jsonscan.NewCursor([]byte(` { "a" : null, "b":"x\u00e4","c":-1.5e3 , "\u0064":[] } `))
	text := "as it was"
	if key, ok := jsonKey(&c, '{'); !ok || key != "a" || !c.Text(&text) || text != "as it was" {
		t.Fatalf("a: %q, %q", key, text)
	}
	if key, ok := jsonKey(&c, ','); !ok || key != "b" || !c.Text(&text) || text != "xä" {
		t.Fatalf("b: %q, %q", key, text)
	}
	if key, ok := jsonKey(&c, ','); !ok || key != "c" || c.Literal("-1.5") || !c.Literal("-1.5e3") {
		t.Fatalf("c: %q", key)
	}
	if _, ok := jsonKey(&c, ','); ok {
		t.Error("a name with an escape is taken")
	}
}

func jsonKey(c *jsonscan.Cursor, before byte) (string, bool) {
	if !c.Take(before) {
		return "", false
	}
	key, ok := c.Key()
	return string(key), ok
}

func TestCursorIsBounded(t *testing.T) {
	for depth, want := range map[int]bool{21: true, 22: false, 1 << 20: false} {
		c := jsonscan.NewCursor([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth)))
		if got := c.Skip() && c.End(); got != want {
			t.Errorf("%d levels: %v", depth, got)
		}
	}
	for depth, want := range map[int]bool{21: true, 22: true, 10000: true, 10001: false} { // as encoding/json has it
		if got := jsonscan.Valid([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))); got != want {
			t.Errorf("%d levels are valid: %v", depth, got)
		}
	}
}

// What a cursor takes is valid JSON, and it takes all of it that is not too deep.
func FuzzCursor(f *testing.F) {
	for _, in := range []string{`{"a":[1,-0.5e+7,true,false,null,"\ud83d\u00e4\\"]} `, `01`, `1.`, `"\x"`, `nul`, `{"a" 1}`, `[1,]`, "\"\x01\"", `1 2`} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := jsonscan.NewCursor(b)
		text, ok := c.Value()
		valid := json.Valid(b)
		if ok = ok && c.End(); ok != valid && (ok || bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) < 20) {
			t.Errorf("%q is taken %v, valid %v", b, ok, valid)
		}
		if got := jsonscan.Valid(b); got != valid {
			t.Errorf("%q is said to be valid: %v", b, got)
		}
		if ok && !bytes.Equal(text, jsonscan.Trim(b)) {
			t.Errorf("%q is %q", b, text)
		}
	})
}
