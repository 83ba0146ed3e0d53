package jsonscan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// sortedByDecoding is AppendSorted by encoding/json.
func sortedByDecoding(t *testing.T, val []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(val))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", val, err)
	}
	out, err := Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var sortedSeeds = []string{
	`null`, `true`, ` -0.0e+5 `, `"a"`, `[]`, `{}`, `[ 1 , [ ] , { } , "x" ]`,
	`{"b":1,"a":{"d":1.50,"c":[1e999,true,null]}}`,
	`{"a":1,"b":2,"a":{"z":1,"y":2},"b":3}`, `{"":1,"a":2,"":3}`,
	`{"\u0061":1,"a":2}`, `{"a\"b":1,"a!b":2,"a\\b":3,"a]b":4}`, `{"a\nb":1,"a b":2}`,
	`"\/\b\f\n\r\t\"\\\u0041\u0000\u001f\u007f"`, `"\u2028 ` + "\u2028\u2029" + `"`, `"\ud83d\ude00\ud83d"`, "\"\xff\xc3\xa9\x7f\"", "{\"\xff\":1,\"\xfe\":2}",
	`"<a href='x'>&amp;</a>\u003c"`, `{"é":1,"z":2,"e":3}`,
	strings.Repeat("[", 33) + strings.Repeat("]", 33), strings.Repeat("[", 40) + strings.Repeat("]", 40),
	strings.Repeat(`{"b":1,"a":`, 20) + "0" + strings.Repeat("}", 20),
}

// A value is written as encoding/json writes it after reading it, unless it is nested too deeply.
func TestAppendSorted(t *testing.T) {
	for _, val := range sortedSeeds {
		got, ok := AppendSorted([]byte("> "), []byte(val))
		if deep := strings.Contains(val, strings.Repeat("[", 34)); ok == deep {
			t.Errorf("%s: taken: %v", val, ok)
		}
		if want := "> " + string(sortedByDecoding(t, []byte(val))); ok && string(got) != want {
			t.Errorf("%s\nbecame %s\n, want %s", val, got, want)
		}
	}
	for _, val := range []string{``, ` `, `{`, `[`, `[1`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1 "b":2}`, `"a`, `1 2`, `{1:2}`} {
		if got, ok := AppendSorted(nil, []byte(val)); ok {
			t.Errorf("%s became %s", val, got)
		}
	}
}

func FuzzAppendSorted(f *testing.F) {
	for _, val := range sortedSeeds {
		f.Add([]byte(val))
	}
	f.Fuzz(func(t *testing.T, val []byte) {
		got, ok := AppendSorted(nil, val)
		if !ok || !json.Valid(val) {
			return
		}
		if want := sortedByDecoding(t, val); !bytes.Equal(got, want) {
			t.Errorf("%q\nbecame %q\n, want %q", val, got, want)
		}
	})
}
