package eca

import (
	"bytes"
	"encoding/json"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
)

// details shows what a call is about, and what came of it; nil: nothing that the
// protocol has a form for.
func (v *View) details(c *call) any {
	if c.task {
		return v.taskDetails()
	}
	if d := v.subagent(c.now); d != nil {
		return d
	}
	if d := changes(c.now.Content); d != nil {
		return d
	}
	if d := shellCommand(c.now); d != nil {
		return d
	}
	if d := jsonOutputs(c.now); d != nil {
		return d
	}
	return nil
}

// shellTool is the name of our tool that runs command lines.
const shellTool = "shell_command"

// shellCommand is what a command line is made of; nil: the call runs none. Clients
// offer to remember an answer only for a command with a key; which answers are
// remembered, and for what, is policy's affair, so each has one.
func shellCommand(now core.Call) *eca.ShellCommand {
	var args struct {
		Command    string `json:"command"`
		Background bool   `json:"background"`
	}
	if now.Server != core.Native || now.Tool != shellTool || json.Unmarshal(now.Args, &args) != nil ||
		args.Command == "" {
		return nil
	}
	d := &eca.ShellCommand{Type: eca.TypeShellCommand, Background: args.Background}
	for _, words := range simpleCommands(args.Command) {
		d.Commands = append(
			d.Commands,
			eca.SimpleCommand{Command: words[0], Args: words[1:], ApprovalKey: strings.Join(words, " ")},
		)
	}
	return d
}

// simpleCommands takes a command line of plain words apart, at && || | ; between
// blanks. Any other line is one command without arguments: what a shell would make
// of it is not guessed.
func simpleCommands(line string) [][]string {
	whole := [][]string{{line}}
	var list [][]string
	var words []string
	for _, word := range append(strings.Fields(line), ";") {
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
			if !plain || r == '=' && len(words) == 0 { // a variable is set
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

// maxJSON is how many bytes of JSON are shown beside a call's outputs.
const maxJSON = 256 << 10

// jsonOutputs is what a tool of an MCP server returned, where it is JSON: what it
// says that its structured result is, else its texts. nil: it is not.
func jsonOutputs(now core.Call) *eca.JSONOutputs {
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
