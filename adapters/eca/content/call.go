package content

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
)

// Changes describes the changes that a call makes to files; nil if there are none.
func Changes(content []core.Block) *eca.FileChange {
	var c *eca.FileChange
	for _, b := range content {
		d, ok := b.(core.Diff)
		if !ok {
			continue
		}
		if c == nil {
			c = &eca.FileChange{Type: eca.TypeFileChange, Path: d.Path}
		}
		patch, added, removed := patchOf(d)
		if c.Diff != "" && !strings.HasSuffix(c.Diff, "\n") {
			c.Diff += "\n"
		}
		c.Diff += patch
		c.LinesAdded += added
		c.LinesRemoved += removed
	}
	return c
}

// patchOf returns a change as a unified diff. A change without a patch is written as the whole
// file before and after.
func patchOf(d core.Diff) (patch string, added, removed int) {
	if d.Patch != "" {
		return d.Patch, d.Added, d.Removed
	}
	var body strings.Builder
	for line := range strings.Lines(d.Old) {
		body.WriteString("-" + strings.TrimSuffix(line, "\n") + "\n")
		removed++
	}
	for line := range strings.Lines(d.New) {
		body.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
		added++
	}
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@\n", min(removed, 1), removed, min(added, 1), added) + body.String(), added, removed
}

// shellTool is the name of our tool that runs command lines.
const shellTool = "shell_command"

// Allowed holds command lines and commands that the user has allowed for the session. The zero
// value is empty.
type Allowed struct{ texts map[string]bool }

// Add records that the user has allowed a call: its line and, if that is one command, the command.
func (a *Allowed) Add(now core.Call) {
	line, _ := commandLine(now)
	if line == "" {
		return
	}
	if a.texts == nil {
		a.texts = map[string]bool{}
	}
	a.texts[line] = true
	if list := simpleCommands(line); len(list) == 1 && list[0].key() != "" {
		a.texts[list[0].key()] = true
	}
}

// Shell takes a command line apart; nil if the call runs none. Clients offer to remember an answer
// only for a command with a key. The policy decides which answers are remembered.
func (a *Allowed) Shell(now core.Call) *eca.ShellCommand {
	line, background := commandLine(now)
	if line == "" {
		return nil
	}
	d := &eca.ShellCommand{Type: eca.TypeShellCommand, Background: background}
	for _, c := range simpleCommands(line) {
		d.Commands = append(d.Commands, eca.SimpleCommand{
			Command: c.words[0], Args: append([]string{}, c.words[1:]...), ApprovalKey: c.key(), Remembered: a.texts[c.key()] || a.texts[line],
		})
	}
	return d
}

// commandLine returns the command line that a call runs; "" if it runs none.
func commandLine(now core.Call) (line string, background bool) {
	var args struct {
		Command    string `json:"command"`
		Background bool   `json:"background"`
	}
	if now.Server != core.Native || now.Tool != shellTool || json.Unmarshal(now.Args, &args) != nil {
		return "", false
	}
	return args.Command, args.Background
}

// simple is one command of a line. written says that its output goes into a file, and whole that it stands for a
// line that is not taken apart.
type simple struct {
	words          []string
	written, whole bool
}

// key returns the name under which an answer for the command is remembered; "": the command is always asked about.
func (c simple) key() string {
	if c.written || c.whole {
		return ""
	}
	words := slices.Clone(c.words)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n") {
			words[i] = strconv.Quote(w)
		}
	}
	return strings.Join(words, " ")
}

// simpleCommands splits a command line of words at && || | ; and line ends, and takes redirections off. A line
// with anything else that a shell expands or nests is one command without arguments: there is no guess at what a
// shell would do.
func simpleCommands(line string) []simple {
	whole := []simple{{words: []string{line}, whole: true}}
	var list []simple
	var now simple
	joins := false // the last operator needs a command behind it
	for rest := strings.Trim(line, " \t\r\n"); rest != ""; {
		t, after, ok := nextToken(rest)
		if ok && t.redirects && !t.copies {
			var to token
			to, after, ok = nextToken(after)
			ok = ok && to.word
			now.written = now.written || t.writes && to.text != os.DevNull
		}
		rest = after
		switch {
		case !ok, t.ends && len(now.words) == 0, t.word && len(now.words) == 0 && (strings.Contains(t.text, "=") || keywords[t.text]):
			return whole
		case t.ends:
			list, now, joins = append(list, now), simple{}, t.joins
		case t.word:
			now.words, joins = append(now.words, t.text), false
		}
	}
	if len(now.words) > 0 {
		list = append(list, now)
	}
	if joins || len(list) == 0 || len(now.words) == 0 && now.written {
		return whole
	}
	return list
}

// keywords begin a compound command.
var keywords = map[string]bool{
	"if": true, "then": true, "else": true, "elif": true, "fi": true, "for": true, "while": true, "until": true, "do": true, "done": true,
	"case": true, "esac": true, "select": true, "function": true, "time": true, "coproc": true,
}

// token is a part of a command line: a word; an operator that ends a command, and perhaps joins it to the next one;
// or a redirection, which writes to a file or copies a descriptor.
type token struct {
	text                      string
	word, ends, joins         bool
	redirects, writes, copies bool
}

// redirection matches one from its descriptor on, with the descriptor that it copies.
var redirection = regexp.MustCompile(`^(&?[0-9]*)(>>|>|<)(&[0-9-])?`)

// nextToken takes the first token off a command line that is not empty. ok is false for what is not understood,
// such as an expansion or a here-document.
func nextToken(line string) (t token, rest string, ok bool) {
	line = strings.TrimLeft(line, " \t")
	for _, sign := range []string{"&&", "||", "|", ";", "\n"} {
		if after, is := strings.CutPrefix(line, sign); is {
			joins := sign != ";" && sign != "\n"
			return token{ends: true, joins: joins}, strings.TrimLeft(after, " \t"), !strings.HasPrefix(after, "&")
		}
	}
	if m := redirection.FindStringSubmatch(line); m != nil {
		rest := line[len(m[0]):]
		return token{redirects: true, writes: m[2] != "<", copies: m[3] != ""}, rest, rest == "" || !strings.ContainsRune("<>&(", rune(rest[0]))
	}
	var word strings.Builder
	quotes := false
	for line != "" && !strings.ContainsRune(" \t\n|;<>&", rune(line[0])) {
		if c := line[0]; c == '\'' || c == '"' {
			quoted, after, closed := strings.Cut(line[1:], string(c))
			if !closed || c == '"' && strings.ContainsAny(quoted, "$`\\!") {
				return token{}, "", false
			}
			word.WriteString(quoted)
			line, quotes = after, true
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		if !plain(r) {
			return token{}, "", false
		}
		word.WriteRune(r)
		line = line[size:]
	}
	return token{text: word.String(), word: true}, line, quotes || word.Len() > 0
}

// plain reports whether a shell takes a sign as it stands.
func plain(r rune) bool {
	return unicode.IsLetter(r) || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@%+,", r)
}

// maxJSON limits the JSON that is shown with a call's outputs, in bytes.
const maxJSON = 256 << 10

// JSON returns the result of an MCP server's tool if it is JSON: the structured result, or
// else the texts. nil: it is not JSON.
func JSON(now core.Call) *eca.JSONOutputs {
	if now.Server == core.Native || now.State != core.Succeeded {
		return nil
	}
	d := &eca.JSONOutputs{Type: eca.TypeJSONOutputs}
	size := 0
	add := func(raw []byte) {
		raw = bytes.TrimSpace(raw)
		if size += len(raw); size <= maxJSON && len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') && json.Valid(raw) {
			d.JSONs = append(d.JSONs, string(raw))
		}
	}
	if len(now.Output) > 0 {
		add(now.Output)
	} else {
		for _, b := range now.Content {
			if t, ok := b.(core.Text); ok {
				add([]byte(t.Text))
			}
		}
	}
	if len(d.JSONs) == 0 {
		return nil
	}
	return d
}
