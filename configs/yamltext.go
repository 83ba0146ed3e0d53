package configs

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// PlainYAML returns the JSON of another program's YAML. Aliases are not accepted, because a short
// text with them can mean an endless one.
func PlainYAML(data []byte) ([]byte, error) {
	body, problem := parseYAML("", data)
	switch {
	case problem != nil && problem.Line > 0:
		return nil, fmt.Errorf("line %d, column %d: %s", problem.Line, problem.Column, problem.Message)
	case problem != nil:
		return nil, errors.New(problem.Message)
	case body == nil:
		return []byte("{}"), nil
	}
	var aliases aliasFinder
	ast.Walk(&aliases, body)
	if aliases.found {
		return nil, errors.New("it has an alias (*NAME), which is not read here")
	}
	return yaml.YAMLToJSON([]byte(body.String()))
}

// aliasFinder is an ast.Visitor.
type aliasFinder struct{ found bool }

func (f *aliasFinder) Visit(n ast.Node) ast.Visitor {
	if _, is := n.(*ast.AliasNode); is {
		f.found = true
	}
	return f
}
