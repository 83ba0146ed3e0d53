package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func init() { plays["asker"] = askAgain }

// askAgain plays an external agent that asks for a permission in each turn and says what it was answered. It
// notes its beginning in the file STARTS, and which of those that began before it still live.
func askAgain() {
	note := fmt.Sprintf("begins %d", os.Getpid())
	before, _ := os.ReadFile(os.Getenv("STARTS")) // the first one finds none
	for line := range strings.Lines(string(before)) {
		var pid int
		if n, _ := fmt.Sscanf(line, "begins %d", &pid); n == 1 && syscall.Kill(pid, 0) == nil {
			note += fmt.Sprintf(" beside %d", pid)
		}
	}
	f, err := os.OpenFile(os.Getenv("STARTS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(note + "\n")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	var prompt json.RawMessage
	asks := 0
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Result struct{ Outcome struct{ OptionID string } }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		switch m.Method {
		case "initialize":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}}`, m.ID)
		case "session/new":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"theirs"}}`, m.ID)
		case "session/prompt":
			asks++
			prompt = m.ID
			say(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"theirs","toolCall":{"toolCallId":"call-%d-%d","title":"Do it","kind":"execute","status":"pending","rawInput":{"command":"do it"}},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}`,
				1000+asks, os.Getpid(), asks)
		case "":
			say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"theirs","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"answered %s "}}}}`, m.Result.Outcome.OptionID)
			say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, prompt)
		}
	}
}

// An external agent's approvals reach the editors of all processes, and each of them can answer. It ends with
// the owner of its session, and the next owner starts it once.
func TestSharedAgent(t *testing.T) {
	t.Parallel()
	p := sharedPlace(t)
	starts := filepath.Join(filepath.Dir(p.home), "starts")
	config := p.config(t, fmt.Sprintf("agents: {asker: {acp: {command: [%q], env: {%s: asker, STARTS: %q}}}}\n", os.Args[0], playVar, starts))
	l := quickly(t)
	owner, other, third := p.sit(t, "acp", l, "--config", config), p.sit(t, "acp", l, "--config", config), p.sit(t, "eca", l, "--config", config)
	id := owner.editor.begin()
	if m := owner.editor.ask("session/set_config_option", object{"sessionId": id, "configId": "agent", "value": "asker"}); m.Error != nil {
		t.Fatal(m.Error)
	}
	owner.id = id
	other.join(id)
	third.join(id)
	seats := []*seat{owner, other, third}
	n := 0
	turn := func(seats []*seat, by, answers *seat) {
		t.Helper()
		n++
		by.prompt(fmt.Sprint("go ", n))
		q := map[*seat]message{}
		for _, s := range seats {
			q[s] = s.asked()
		}
		answers.allow(q[answers])
		for _, s := range seats {
			if s != answers {
				s.withdrawn(q[s])
			}
			s.sees("answered yes")
		}
		if by.name == "acp" {
			by.sees(`"stopReason":"end_turn"`)
		}
	}
	turn(seats, owner, other)
	turn(seats, other, third)
	turn(seats, third, owner)
	other.prompt("go on")
	q := map[*seat]message{}
	for _, s := range seats {
		q[s] = s.asked()
	}
	owner.kill()
	owner.left(patience)
	other.withdrawn(q[other])
	other.sees("interrupted")
	seats = seats[1:]
	turn(seats, other, third)
	turn(seats, third, other)
	text, err := os.ReadFile(filepath.Clean(starts))
	if err != nil {
		t.Fatal(err)
	}
	began, beside := strings.Count(string(text), "begins"), strings.Count(string(text), "beside")
	t.Logf("the agent was started %d times, %d times beside another one", began, beside)
	if began != 2 || beside > 0 {
		t.Errorf("the agent's processes:\n%s", text)
	}
	log := p.logOf(t, id)
	for _, s := range seats {
		v, want := s.editor.view(id), shownOf(t, log, s.name == "acp", s.own...)
		shown := func() []element { // without what an agent that begins is told of what was before
			return slices.DeleteFunc(v.shown(), func(e element) bool { return e.kind == elemThought })
		}
		s.read("all of the log", func() bool { return reached(shown(), want) })
		sameAs(t, s.name, shown(), want)
		s.leave()
	}
}
