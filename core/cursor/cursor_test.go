package cursor_test

import (
	"testing"

	"dragoman/core"
	"dragoman/core/cursor"
)

func TestCursor(t *testing.T) {
	for want, p := range map[string]core.Pos{
		"0-0-0":   {},
		"1-5-0":   {Epoch: 1, Seq: 5},
		"z-10-2s": {Epoch: 35, Seq: 36, Off: 100},
		"3w5e11264sgsf-3w5e11264sgsf-3w5e11264sgsf": {Epoch: 1<<64 - 1, Seq: 1<<64 - 1, Off: 1<<64 - 1},
	} {
		text := cursor.Format(p)
		back, err := cursor.Parse(text)
		if text != want || err != nil || back != p {
			t.Errorf("%+v is %q and then %+v, %v", p, text, back, err)
		}
	}
	if p, err := cursor.Parse(""); err != nil || p != (core.Pos{}) {
		t.Errorf("the empty text is %+v, %v", p, err)
	}
	for _, text := range []string{"1", "1-2", "1-2-3-4", "1-2-", "-1-2", "1--2", "1-2-!", "3w5e11264sgsg-1-1"} {
		if p, err := cursor.Parse(text); err == nil {
			t.Errorf("%q is %+v", text, p)
		}
	}
}
