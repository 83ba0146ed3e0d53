package eca

import (
	"bytes"
	"encoding/json"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
)

// details returns the subject and the result of a call; nil if the protocol has no form for them.
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

// shellCommand takes a command line apart; nil if the call runs none. Clients offer to remember
// an answer only for a command with a key. The policy decides which answers are remembered, so
// each command has a key.
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

// simpleCommands splits a command line of plain words at && || | ; between blanks. Any other line
// is one command without arguments: there is no guess at what a shell would do.
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

// jsonOutputs returns the result of an MCP server's tool if it is JSON: the structured result, or
// else the texts. nil: it is not JSON.
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
