package main

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// earlyEdges lists the files that put an edge into the connection of an early client or server,
// each with one line; the edge is in early.go next to it. A filter of package adapters/mcp/edge
// has functions of its own for that, and so has a stream of package bridge/relay.
var earlyEdges = map[string]string{
	"adapters/acp":      "initialize.go",
	"adapters/eca":      "lifecycle.go",
	"adapters/mcp/edge": "",
	"bridge/aggregate":  "aggregate.go",
	"bridge/relay":      "",
	"bridge/upstream":   "peer.go",
}

// Encoders, handlers and all code behind them speak today's protocols: only early.go knows the
// document of an early client or server, and the one line that puts the edge into the connection.
func TestEarlyDocumentsStayAtTheEdge(t *testing.T) {
	puts := map[string][]string{}
	eachFile(t, func(s source) {
		file := filepath.Base(s.set.Position(s.file.Pos()).Filename)
		if _, edge := earlyEdges[s.dir]; edge && file == "early.go" {
			puts[s.dir] = append(puts[s.dir], "") // it exists
			return
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || !slices.Contains([]string{"Dialect", "Doc000", "Doc001"}, id.Name) &&
				!strings.HasPrefix(id.Name, "early") && !strings.HasPrefix(id.Name, "Early") {
				return true
			}
			if line := earlyEdges[s.dir]; line == file && id.Name == "early" {
				puts[s.dir] = append(puts[s.dir], s.at(n))
			} else {
				t.Errorf("%s: %s belongs into early.go, at the edge of a connection", s.at(n), id.Name)
			}
			return true
		})
	})
	for dir, line := range earlyEdges {
		want := 1
		if line != "" {
			want = 2
		}
		if len(puts[dir]) != want {
			t.Errorf("%s: the edge is put in at %q, want one line of %s, and early.go", dir, puts[dir], line)
		}
	}
}
