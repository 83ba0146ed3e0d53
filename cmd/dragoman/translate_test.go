package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"dragoman/cmd/internal/translate"
)

// The markers in the README around the table of "dragoman translate --table".
const (
	tableBegins = "<!-- dragoman translate --table -->\n"
	tableEnds   = "<!-- the end of the table -->\n"
)

// The README has the table that the command prints.
func TestTheTableIsInTheReadme(t *testing.T) {
	const file = "../../README.md"
	readme, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(readme), tableBegins)
	has, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("the README has no %q and %q", tableBegins, tableEnds)
	}
	var table bytes.Buffer
	if err := translate.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	want := "\n" + table.String() + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(before+tableBegins+want+tableEnds+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if has != want {
		t.Error(`the table in the README is not that of "dragoman translate --table"; go test ./cmd/dragoman -run TheTableIsInTheReadme -update`)
	}
}

// A stored session is printed as the messages of each protocol.
func TestTranslateASession(t *testing.T) {
	p := newPlace(t)
	p.well(t, "hello\nread notes.txt\n", "chat")
	var s struct{ ID string }
	if err := json.Unmarshal([]byte(p.well(t, "", "sessions", "list", "--json")), &s); err != nil {
		t.Fatal(err)
	}
	for protocol, want := range map[string][]string{
		"acp": {`"method":"session/update"`, `"sessionUpdate":"user_message_chunk"`, `"sessionUpdate":"tool_call"`, `"stopReason":"end_turn"`},
		"eca": {`"method":"chat/contentReceived"`, `"type":"toolCalled"`, `"state":"finished"`},
		"mcp": {`"method":"notifications/progress"`, `"status":"completed"`, `"name":"read_file"`},
	} {
		out := p.well(t, "", "translate", "--to", protocol, s.ID[:8])
		for _, part := range want {
			if !strings.Contains(out, part) {
				t.Errorf("%s has no %s:\n%s", protocol, part, out)
			}
		}
		for line := range strings.Lines(out) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: %s", protocol, line)
			}
		}
		if n := strings.Count(out, `"session_id":"`+s.ID+`"`); protocol == "mcp" && n != 2 {
			t.Errorf("the session has its id in %d results of two", n)
		}
		if n := strings.Count(out, `"result":{`); protocol != "eca" && n != 2 {
			t.Errorf("%s: %d results of two turns", protocol, n)
		}
	}
	for args, want := range map[string]string{
		"translate":                    "give --table, or --to PROTOCOL",
		"translate --to acp":           "give --table, or --to PROTOCOL",
		"translate --to mpc " + s.ID:   `--to "mpc": want acp, eca, mcp; did you mean "mcp"?`,
		"translate --table --to acp":   "leave out --to and SESSION",
		"translate --to acp nothing-x": `there is no session "nothing-x"`,
	} {
		if o := p.run(t, "", strings.Fields(args)...); o.code == 0 || o.out != "" || !strings.Contains(o.errs, want) {
			t.Errorf("dragoman %s: exit code %d, %s%s", args, o.code, o.out, o.errs)
		}
	}
}
