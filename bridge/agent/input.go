package agent

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/jsonscan"
	"dragoman/core/shell"
)

// input is what an agent puts into rawInput. Members count by their exact names: one that is written
// in another case is another member, and another value would be judged than is used.
type input struct {
	raw      json.RawMessage
	top      map[string]json.RawMessage   // the members of the object itself
	all      map[string][]json.RawMessage // and those of objects in it
	commands []string                     // the command lines in these objects
	loose    []string                     // texts in members that are no wording
	hidden   bool                         // it also has what was not searched
}

// The names of members by which agents' own tools run commands, touch files and fetch.
var (
	commandNames = []string{"command", "cmd", "commands", "script", "shell_command", "shellCommand", "command_line", "commandLine"}
	wordsNames   = []string{"args", "arguments"}
	folderNames  = []string{
		"cwd", "workdir", "working_directory", "workingDirectory", "working_dir", "workingDir", "dir_path", "dirPath", "directory", "dir",
	}
	fileNames = []string{
		"file_path", "filePath", "filepath", "path", "paths", "absolute_path", "absolutePath", "notebook_path", "notebookPath",
		"file", "files", "filename", "file_name", "fileName", "target_file", "targetFile", "destination", "move_path", "movePath",
		"old_path", "oldPath", "new_path", "newPath", "grant_root",
	}
	movedNames = []string{"from", "to", "source", "target", "src", "dst"}
)

const (
	addressName   = "url"
	changesName   = "changes"
	variablesName = "env"
)

var (
	// repeatNames are members that repeat or comment on what others say, as Codex has them.
	repeatNames = []string{
		"parsed_cmd", "parsedCmd", "command_actions", "commandActions",
		"proposed_execpolicy_amendment", "proposedExecpolicyAmendment", "available_decisions", "availableDecisions",
	}
	// wordingNames are members with words for people or models, or the content of files.
	wordingNames = []string{
		"content", "contents", "text", "description", "prompt", "query", "reason", "explanation", "title", "instruction", "instructions",
		"patch", "patchText", "diff", "unified_diff", "old_string", "oldString", "old_str", "old_text", "oldText",
		"new_string", "newString", "new_str", "new_text", "newText",
	}
)

const (
	// maxNested limits how deep in an input members are searched for, and maxMembers how many.
	maxNested  = 8
	maxMembers = 2000
	// maxPath is the length of the longest path, in bytes.
	maxPath = 4096
)

// effects lists the names of all members by which a call has an effect.
func effects() []string {
	return slices.Concat(commandNames, folderNames, fileNames, []string{addressName, changesName})
}

// inputOf reads a rawInput.
func inputOf(raw json.RawMessage) input {
	raw = bytes.TrimSpace(raw)
	in := input{raw: raw, top: wire.Object(raw), all: map[string][]json.RawMessage{}}
	in.hidden = says(raw) && raw[0] != '{'
	in.search(in.top, 0)
	return in
}

// search adds the members of an object, and of those in it.
func (in *input) search(members map[string]json.RawMessage, depth int) {
	if len(in.all) > maxMembers || depth > maxNested {
		in.hidden = true
		return
	}
	in.commands = distinct(append(in.commands, linesOf(members)...))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if slices.Contains(repeatNames, name) {
			continue
		}
		value := members[name]
		in.all[name] = append(in.all[name], value)
		for _, item := range itemsOf(value) {
			switch {
			case item[0] == '{' && name != variablesName:
				in.search(wire.Object(item), depth+1)
			case item[0] == '"' && !slices.Contains(wordingNames, name) && !slices.Contains(commandNames, name):
				in.loose = append(in.loose, jsonscan.Text(item))
			}
		}
	}
}

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
	return vars, !says(raw) || json.Unmarshal(raw, &vars) == nil
}

// itemsOf returns the values of a list, and of lists in it, or the value itself.
func itemsOf(value json.RawMessage) (items []json.RawMessage) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] != '[' {
		return []json.RawMessage{value}
	}
	var list []json.RawMessage
	_ = json.Unmarshal(value, &list) // it is part of a message that was parsed
	for _, item := range list {
		items = append(items, itemsOf(item)...)
	}
	return items
}

// texts returns the texts in members of these names: one, or a list of them.
func (in input) texts(names ...string) (list []string) {
	for _, name := range names {
		for _, value := range in.all[name] {
			for _, item := range itemsOf(value) {
				if text := jsonscan.Text(item); text != "" {
					list = append(list, text)
				}
			}
		}
	}
	return list
}

// folders returns the folders that the input names.
func (in input) folders() []string { return distinct(in.texts(folderNames...)) }

// changes lists the files that the input changes.
func (in input) changes() (list []string) {
	for _, value := range in.all[changesName] {
		list = append(list, slices.Sorted(maps.Keys(wire.Object(bytes.TrimSpace(value))))...)
	}
	return distinct(list)
}

// files lists the files that the input of a call of a kind names.
func (in input) files(kind core.CallKind) []string {
	names := fileNames
	if kind == core.KindMove {
		names = slices.Concat(fileNames, movedNames)
	}
	return distinct(slices.Concat(in.texts(names...), in.changes()))
}

// reaches lists the texts under other names that are paths out of the folder in which they are used,
// such as the pattern of a search. far says that the paths are those of another machine.
func (in input) reaches(far bool) (list []string) {
	for _, text := range in.loose {
		if len(text) > maxPath || strings.ContainsAny(text, "\n\r") {
			continue
		}
		path, ok := spelled(text)
		switch {
		case !ok && strings.HasPrefix(strings.ToLower(text), "file:"), ok && filepath.IsAbs(path) && (far || begins(path)),
			ok && slices.Contains(strings.Split(filepath.ToSlash(path), "/"), ".."):
			list = append(list, text)
		}
	}
	return distinct(list)
}

// begins reports whether an absolute path, or a pattern of one, begins like a path of this machine.
// A regular expression or the path of an address seldom does.
func begins(path string) bool {
	first, _, _ := strings.Cut(strings.TrimLeft(filepath.ToSlash(path), "/"), "/")
	if i := strings.IndexAny(first, "*?[{"); i >= 0 {
		first = first[:i]
	}
	_, err := os.Lstat(filepath.Join(filepath.VolumeName(path)+string(filepath.Separator), first))
	return err == nil
}

// onServer returns the tool of an MCP server of the agent's own that the input calls. With other
// members it is the input of another tool, whatever it contains besides.
func (in input) onServer() (server, tool string, ok bool) {
	server, tool = jsonscan.Text(in.top["server"]), jsonscan.Text(in.top["tool"])
	return server, tool, server != "" && server != core.Native && tool != "" && only(in.top, "server", "tool", "arguments")
}

// distinct returns a list without repetitions, in its order.
func distinct(list []string) (once []string) {
	for _, text := range list {
		if !slices.Contains(once, text) {
			once = append(once, text)
		}
	}
	return once
}
