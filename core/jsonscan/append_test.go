package jsonscan

import (
	"encoding/json"
	"math"
	"testing"
)

// An object keeps its order and the characters of HTML, and what stands before it stays.
func TestAppendObject(t *testing.T) {
	o := Object{{"z<", "a & b"}, {"a", Object{{"y", 1}, {"x", nil}}}, {"list", []Object{{}}}}
	got, err := Append([]byte("> "), o)
	if want := `> {"z<":"a & b","a":{"y":1,"x":null},"list":[{}]}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if !json.Valid(got[2:]) {
		t.Error("it is no JSON")
	}
	got, err = Append([]byte("> "), Object{{"a", math.NaN()}})
	if string(got) != "> " || err == nil {
		t.Errorf("got %s, %v for what cannot be encoded", got, err)
	}
}
