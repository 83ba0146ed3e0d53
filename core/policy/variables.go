package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variables are what the variables of a line are known to hold, as text for the shell: {a,b} is
// either of two. A name that is missing may hold anything.
type variables map[string]string

const (
	maxValues = 16   // that a variable may hold
	maxValue  = 1000 // bytes of all of them
)

// numeral matches the number of a process, of arguments, of characters, and an exit code.
const (
	two     = "[0-9][0-9]"
	numeral = "{[0-9]," + two + "," + two + "[0-9]," + two + two + "," + two + two + "[0-9]," + two + two + two + "," + two + two + two + "[0-9]}"
)

// setters are commands that set variables to what cannot be known.
var setters = []string{"read", "mapfile", "readarray", "printf", "getopts", "eval", "source", ".", "let"}

// movers are commands that change the folder in which a line works.
var movers = []string{"cd", "pushd", "popd", "chdir"}

// ownName matches variables that only the line sets: by convention, programs hand down names in
// capitals.
var ownName = matcher(`^[a-z_][a-z0-9_]*$`)

// variablesOf finds the variables of a line that hold one of a few texts, which stand in the line.
// start holds those that the shell starts with.
func variablesOf(file *syntax.File, start map[string]string) variables {
	found := map[string][]string{}
	hidden := map[string]bool{}
	set := func(name string, words ...*syntax.Word) {
		for _, n := range words {
			w := readWord(n)
			if !w.static || strings.ContainsAny(w.text, "{},~ \t\n") {
				hidden[name] = true
				return
			}
			found[name] = append(found[name], w.text)
		}
		hidden[name] = hidden[name] || len(words) == 0
	}
	guess := false // something sets variables that cannot be known
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name == nil {
				break
			}
			if n.Append || n.Index != nil || n.Array != nil || n.Value == nil {
				hidden[n.Name.Value] = true
				break
			}
			set(n.Name.Value, n.Value)
		case *syntax.WordIter:
			set(n.Name.Value, n.Items...)
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				first := readWord(n.Args[0])
				guess = guess || !first.static || slices.Contains(setters, first.text)
				hidden["PWD"] = hidden["PWD"] || slices.Contains(movers, first.text)
			}
		case *syntax.ArithmCmd, *syntax.LetClause:
			guess = true
		case *syntax.ParamExp:
			guess = guess || n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull)
		}
		return true
	})
	v := variables{}
	for name, text := range start {
		if text != "" && !guess && found[name] == nil && !hidden[name] && !strings.ContainsAny(text, "{},*?[") {
			v[name] = text
		}
	}
	for name, texts := range found {
		if guess || hidden[name] || !ownName().MatchString(name) {
			continue
		}
		// Nothing, too: it may not be set yet, or not here.
		if joined := strings.Join(texts, ","); len(texts) <= maxValues && len(joined) <= maxValue {
			v[name] = "{," + joined + "}"
		}
	}
	return v
}

// of returns the text that a part of a word expands to, if that is known.
func (v variables) of(p syntax.WordPart) (string, bool) {
	if sub, ok := p.(*syntax.CmdSubst); ok && v != nil {
		return written(sub)
	}
	e, ok := p.(*syntax.ParamExp)
	if !ok || e.Param == nil {
		return "", false
	}
	if e.Flags != nil || e.Excl || e.Width || e.IsSet || e.NestedParam != nil || e.Index != nil || len(e.Modifiers) > 0 ||
		e.Slice != nil || e.Repl != nil || e.Names != 0 || e.Exp != nil {
		return "", false
	}
	switch name := e.Param.Value; {
	case e.Length, name == "?", name == "#", name == "$":
		return numeral, v != nil
	case name == "!":
		return "{," + numeral[1:], v != nil // nothing before the first job
	default:
		text, ok := v[name]
		return text, ok
	}
}

// written returns the text of $(cat <<'E'), by which a text of several lines is made a word.
func written(sub *syntax.CmdSubst) (string, bool) {
	if len(sub.Stmts) != 1 || len(sub.Stmts[0].Redirs) != 1 || sub.Stmts[0].Redirs[0].Hdoc == nil {
		return "", false
	}
	if cat := wordsOf(sub.Stmts[0].Cmd); len(cat) != 1 || cat[0] != "cat" {
		return "", false
	}
	body := readWord(sub.Stmts[0].Redirs[0].Hdoc)
	return body.text, body.static
}
