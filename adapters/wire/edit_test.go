package wire_test

import (
	"testing"

	"dragoman/adapters/wire"
)

// What is changed of an object is changed, and nothing else.
func TestEdited(t *testing.T) {
	in := `{"b" : 1.50,"a":{"x":[1, 2]},"b":2,"ü\n":"\u00fc"}`
	for _, test := range []struct {
		changes []wire.Member
		want    string
	}{
		{nil, `{"b":1.50,"a":{"x":[1, 2]},"b":2,"ü\n":"\u00fc"}`},
		{[]wire.Member{wire.Set("b", wire.JSON(3))}, `{"b":3,"a":{"x":[1, 2]},"ü\n":"\u00fc"}`},
		{[]wire.Member{wire.Set("b", nil), wire.Set("c", wire.JSON("d")), wire.Set("e", nil)}, `{"a":{"x":[1, 2]},"ü\n":"\u00fc","c":"d"}`},
	} {
		if got := string(wire.Edit([]byte(in), test.changes...)); got != test.want {
			t.Errorf("%v: %s, want %s", test.changes, got, test.want)
		}
	}
	if got := string(wire.Edit(nil, wire.Set("a", wire.JSON(1)))); got != `{"a":1}` {
		t.Error(got)
	}
}

// A member is found by its exact name, the last of several counts, and what is no object has none.
func TestValue(t *testing.T) {
	for object, want := range map[string]string{
		`{"a":1,"b":{"a":2}}`:   "1",
		`{"a":1,"A":2, "a" :3}`: "3",
		`{"\u0061":"x"}`:        `"x"`,
		`{"a":null}`:            "null",
		`{"b":1}`:               "",
		`["a",1]`:               "",
		``:                      "",
	} {
		if got := wire.Value([]byte(object), "a"); string(got) != want {
			t.Errorf("%s: %s", object, got)
		}
	}
}
