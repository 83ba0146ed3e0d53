package rawinput

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/fileuri"
	"dragoman/core/jsonscan"
)

// Input is a rawInput that was searched. Members count by their exact names: a decoder that takes
// another case for the same name could find another value than the one that the agent uses.
type Input struct {
	Raw      json.RawMessage
	Commands []string // the command lines in it
	Hidden   bool     // it also has what was not searched

	top   map[string]json.RawMessage   // the members of the object itself
	all   map[string][]json.RawMessage // and those of objects in it
	loose []string                     // texts in members that are no wording
}

const (
	// maxNested limits how deep in an input members are searched for, and maxMembers how many, and how many
	// texts.
	maxNested  = 8
	maxMembers = 2000
	// maxPath is the length of the longest path, in bytes.
	maxPath = 4096
)

// Of reads a rawInput.
func Of(raw json.RawMessage) Input {
	raw = bytes.TrimSpace(raw)
	in := Input{Raw: raw, top: wire.Object(raw), all: map[string][]json.RawMessage{}}
	in.Hidden = Says(raw) && raw[0] != '{'
	in.search(in.top, 0)
	in.Commands = distinct(in.Commands)
	return in
}

// search adds the members of an object, and of those in it.
func (in *Input) search(members map[string]json.RawMessage, depth int) {
	if len(in.all) > maxMembers || len(in.loose) > maxMembers || depth > maxNested {
		in.Hidden = true
		return
	}
	in.Commands = append(in.Commands, linesOf(members)...)
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
			case item[0] != '"' || slices.Contains(wordingNames, name) || slices.Contains(commandNames, name):
			case len(in.loose) > maxMembers:
				in.Hidden = true
			default:
				in.loose = append(in.loose, jsonscan.Text(item))
			}
		}
	}
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
func (in Input) texts(names ...string) (list []string) {
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

// Folders returns the folders that the input names.
func (in Input) Folders() []string { return distinct(in.texts(folderNames...)) }

// Changes lists the files that the input changes.
func (in Input) Changes() (list []string) {
	for _, value := range in.all[changesName] {
		list = append(list, slices.Sorted(maps.Keys(wire.Object(bytes.TrimSpace(value))))...)
	}
	return distinct(list)
}

// Files lists the files that the input of a call of a kind names.
func (in Input) Files(kind core.CallKind) []string {
	names := fileNames
	if kind == core.KindMove {
		names = slices.Concat(fileNames, movedNames)
	}
	return distinct(slices.Concat(in.texts(names...), in.Changes()))
}

// Reaches lists the texts under other names that are paths out of the folder in which they are used,
// such as the pattern of a search. far says that the paths are those of another machine.
func (in Input) Reaches(far bool) (list []string) {
	for _, text := range distinct(in.loose) {
		if len(text) > maxPath || strings.ContainsAny(text, "\n\r") {
			continue
		}
		path, ok := Spelled(text)
		switch {
		case !ok && strings.HasPrefix(strings.ToLower(text), "file:"), ok && filepath.IsAbs(path) && (far || begins(path)),
			ok && slices.Contains(strings.Split(filepath.ToSlash(path), "/"), ".."):
			list = append(list, text)
		}
	}
	return list
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

// OnServer returns the tool of an MCP server of the agent's own that the input calls. With other
// members it is the input of another tool, whatever it contains besides.
func (in Input) OnServer() (server, tool string, ok bool) {
	server, tool = jsonscan.Text(in.top["server"]), jsonscan.Text(in.top["tool"])
	return server, tool, server != "" && server != core.Native && tool != "" && Only(in.top, "server", "tool", "arguments")
}

// distinct returns a list without repetitions, in its order.
func distinct(list []string) (once []string) {
	seen := make(map[string]bool, len(list))
	for _, text := range list {
		if !seen[text] {
			seen[text] = true
			once = append(once, text)
		}
	}
	return once
}

// Spelled returns the path of a file address, and of one in the home folder: agents take both. It
// reports false for what may be any file, or none of this machine's.
func Spelled(path string) (string, bool) {
	path = strings.TrimSpace(path)
	if len(path) >= 5 && strings.EqualFold(path[:5], "file:") {
		at, err := fileuri.Path(path)
		return at, err == nil
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		home, err := os.UserHomeDir()
		return filepath.Join(home, rest), err == nil && (rest == "" || rest[0] == '/')
	}
	return path, path != "" && path[0] != '$' && !strings.Contains(path, "://")
}

// Only reports whether an object has no other members than these.
func Only(members map[string]json.RawMessage, names ...string) bool {
	for name := range members {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// Says reports whether a raw value contains anything.
func Says(raw json.RawMessage) bool {
	text := strings.TrimSpace(string(raw))
	return text != "" && text != "null" && text != "{}"
}

var address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://[^\s"'<>)\]]+`) })

// Addresses lists the addresses that the input names, and with everywhere also those within other texts.
func (in Input) Addresses(everywhere bool) []string {
	list := in.texts(addressName)
	if everywhere {
		for _, name := range slices.Sorted(maps.Keys(in.all)) {
			for _, text := range in.texts(name) {
				list = append(list, AddressesIn(text)...)
			}
		}
	}
	return list
}

// AddressesIn lists the addresses in a text.
func AddressesIn(text string) []string { return address().FindAllString(text, -1) }
