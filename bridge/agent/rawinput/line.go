package rawinput

import (
	"encoding/json"
	"slices"
	"strings"

	"dragoman/adapters/wire"
	"dragoman/core/jsonscan"
	"dragoman/core/shell"
)

// linesOf lists the command lines in an object, with its arguments and variables.
func linesOf(members map[string]json.RawMessage) (list []string) {
	words, known := wordsOf(members)
	vars, plain := varsOf(members[variablesName])
	for _, name := range commandNames {
		line := lineIn(members[name])
		if line == "" {
			continue
		}
		if len(words) > 0 {
			line += " " + shell.Quote(words...)
		}
		line = shell.Request{Command: line, Env: vars}.Line(nil)
		if !known || !plain { // no rule allows such a line
			line += " " + string(wire.JSON(members))
		}
		list = append(list, line)
	}
	return list
}

// wordsOf returns the arguments that an object has for its command; known is false if it has them in
// another form than as texts.
func wordsOf(members map[string]json.RawMessage) (words []string, known bool) {
	known = true
	for _, name := range wordsNames {
		for _, item := range itemsOf(members[name]) {
			switch {
			case len(item) == 0 || string(item) == "null":
			case item[0] == '"':
				words = append(words, jsonscan.Text(item))
			default:
				known = false
			}
		}
	}
	return words, known
}

// varsOf returns the variables that are set for a command; plain is false if they have another form.
func varsOf(raw json.RawMessage) (vars map[string]string, plain bool) {
	return vars, !Says(raw) || json.Unmarshal(raw, &vars) == nil
}

// lineIn returns the command line in a member: a text, or a list of words. Of another form it
// returns the JSON, which no rule allows.
func lineIn(raw json.RawMessage) string {
	var line string
	if !Says(raw) || string(raw) == "[]" || json.Unmarshal(raw, &line) == nil {
		return strings.TrimSpace(line)
	}
	var words []string
	if json.Unmarshal(raw, &words) == nil {
		return lineOf(words)
	}
	return string(raw)
}

// lineOf returns the line that words run: what a shell is given, or the words themselves.
func lineOf(words []string) string {
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") {
		name := strings.TrimPrefix(strings.TrimPrefix(words[0], "/usr"), "/bin/") // a shell elsewhere may be anything
		if slices.Contains([]string{"bash", "sh", "zsh", "dash"}, name) {
			return words[2]
		}
	}
	return shell.Quote(words...)
}
