package coretest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// TestSamplesAreComplete reads the source of core: a type of a closed union without a
// sample fails.
func TestSamplesAreComplete(t *testing.T) {
	have := map[string]map[string]bool{"event": {}, "block": {}}
	for _, ev := range coretest.Samples() {
		have["event"][reflect.TypeOf(ev).Name()] = true
	}
	for _, b := range coretest.Blocks() {
		have["block"][reflect.TypeOf(b).Name()] = true
	}
	found := 0
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || have[f.Name.Name] == nil {
				continue
			}
			if kind, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
				found++
				if !have[f.Name.Name][kind.Name] {
					t.Errorf("no sample of the %s %s", f.Name.Name, kind.Name)
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("found only %d members of the unions in core's source: this test looks in the wrong place", found)
	}
}

// TestSamplesAreOneLog: every record follows the previous one.
func TestSamplesAreOneLog(t *testing.T) {
	var at core.Pos
	for _, r := range coretest.Records(1, coretest.Samples()...) {
		if r.Seq == 0 {
			continue
		}
		next, _, ok, err := at.Splice(r)
		if err != nil || !ok {
			t.Fatalf("record %d.%d (%T): ok %v, %v", r.Seq, r.Off, r.Event, ok, err)
		}
		at = next
	}
}
