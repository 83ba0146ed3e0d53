package content

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

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
	if list := simpleCommands(line); len(list) == 1 {
		a.texts[strings.Join(list[0], " ")] = true
	}
}

// Shell takes a command line apart; nil if the call runs none. Clients offer to remember an answer
// only for a command with a key. The policy decides which answers are remembered, so each command
// has a key.
func (a *Allowed) Shell(now core.Call) *eca.ShellCommand {
	line, background := commandLine(now)
	if line == "" {
		return nil
	}
	d := &eca.ShellCommand{Type: eca.TypeShellCommand, Background: background}
	for _, words := range simpleCommands(line) {
		key := strings.Join(words, " ")
		d.Commands = append(d.Commands, eca.SimpleCommand{
			Command: words[0], Args: words[1:], ApprovalKey: key, Remembered: a.texts[key] || a.texts[line],
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

// operators puts blanks around the operators at which simpleCommands splits.
var operators = strings.NewReplacer("&&", " && ", "||", " || ", "|", " | ", ";", " ; ")

// simpleCommands splits a command line of plain words at && || | ;. Any other line is one command
// without arguments: there is no guess at what a shell would do.
func simpleCommands(line string) [][]string {
	whole := [][]string{{line}}
	var list [][]string
	var words []string
	for _, word := range append(strings.Fields(operators.Replace(line)), ";") {
		switch word {
		case "&&", "||", "|", ";":
			if len(words) == 0 {
				return whole
			}
			list, words = append(list, words), nil
			continue
		}
		for _, r := range word {
			plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
				strings.ContainsRune("_-./:=@%+,", r)
			if !plain || r == '=' && len(words) == 0 { // it sets a variable
				return whole
			}
		}
		words = append(words, word)
	}
	if strings.ContainsAny(line, "\r\n") {
		return whole
	}
	return list
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
