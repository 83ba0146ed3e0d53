package ledger

import (
	"reflect"
	"testing"
)

func TestLedger(t *testing.T) {
	l, other := Ledger[string, int]{}, Ledger[string, int]{}
	l.Set("ann", "x", 1)
	l.Set("ann", "y", 2)
	other.Set("ann", "x", 3)
	other.Set("bob", "x", 4)
	l.Merge(other)
	want := Ledger[string, int]{"ann": {"x": 3, "y": 2}, "bob": {"x": 4}}
	if !reflect.DeepEqual(l, want) {
		t.Errorf("%v, want %v", l, want)
	}
}
