package main

import (
	"go/ast"
	"strings"
	"testing"
)

// Only the command that serves a client sets its principal: code that assumed one would show one
// person's sessions to another. core/coretest is for tests.
func TestPrincipalComesFromTheConnection(t *testing.T) {
	declared := 0
	eachFile(t, func(s source) {
		if s.dir == "cmd" || strings.HasPrefix(s.dir, "cmd/") || s.dir == "core/coretest" {
			return
		}
		imports, members := importsOf(s.file), map[*ast.Ident]bool{}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if ok && n.Sel.Name == "Local" && imports[x.Name] == "dragoman/core" {
					t.Errorf("%s: core.Local is named; take the principal of the connection", s.at(n))
				}
				members[n.Sel] = true
			case *ast.Field:
				for _, name := range n.Names {
					members[name] = true
				}
			case *ast.Ident:
				if n.Name != "Local" || s.dir != "core" || members[n] {
					return true
				}
				if declared++; declared > 1 {
					t.Errorf("%s: Local is named beside its declaration; take the principal that was passed", s.at(n))
				}
			}
			return true
		})
	})
	if declared == 0 {
		t.Error("core does not declare Local any more")
	}
}
