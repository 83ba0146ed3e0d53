package jsonl

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"dragoman/core"
)

// FuzzEntry compares the decoding of an entry with encoding/json's.
func FuzzEntry(f *testing.F) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	for _, e := range []indexEntry{
		{},
		{Principal: "local", Summary: core.Summary{ID: "s1"}},
		{Principal: "local", Log: 1234, Keeps: true, Summary: core.Summary{
			ID: "s1", Title: "what \"<is>\" this & that", Cwd: "/home/ada/app", Roots: []string{"/home/ada/app", "/tmp"}, Parent: "s0", Created: at,
			Updated: at.In(time.FixedZone("", 3600)), Model: "some/model", Agent: "main", Messages: 7, Archived: true,
		}},
		{Principal: "ada", Log: 1, Summary: core.Summary{ID: "ü", Title: "täglich", Cwd: "/", Roots: []string{""}, Created: at, Updated: at, Messages: -3}},
	} {
		b, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"p":"local","n":01,"s":{"id":"s1","cwd":"","created":"2026-01-02T03:04:05Z","updated":"2026-01-02T03:04:05Z","messages":0}}`))
	f.Add([]byte(`{"p":"local","n":1,"s":{"id":"s1","cwd":"","roots":[],"created":"2026-01-02T03:04:05Z","updated":"2026-1-02T03:04:05Z","messages":0}}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		if !utf8.Valid(object) || bytes.ContainsFunc(object, unicode.IsControl) {
			return // json.Marshal writes no such line
		}
		var want indexEntry
		err := json.Unmarshal(object, &want)
		got, ok := decodeEntry(object)
		if ok != (err == nil && want.Summary.ID != "") {
			t.Fatalf("decoded: %v; encoding/json: %v, %+v", ok, err, want)
		}
		if ok && !reflect.DeepEqual(got, want) {
			t.Errorf("decoded\n%+v\nwant\n%+v", got, want)
		}
	})
}
