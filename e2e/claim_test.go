package e2e

import (
	"testing"
)

// A process's own session is never refused as in use by another process, although
// programs that are being started have copies of its open files until they execute.
func TestNewSessionsBesideCommands(t *testing.T) {
	t.Parallel()
	const (
		busy  = 4  // sessions that start one command after the other
		round = 25 // new sessions at once
		quick = "stream 1 of 4"
	)
	rounds := 2
	if everyVariant() {
		rounds = 4
	}
	commands := "run true"
	for range 40 {
		commands += " then run true"
	}
	begin := func(t *testing.T) (*place, []string) {
		p := newPlace(t)
		return p, []string{"--config", p.config(t, "policy:\n  default: allow\n")}
	}
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			p, flags := begin(t)
			e := p.edit(t, d, launch{}, flags...)
			var working []string
			for range busy {
				working = append(working, e.begin())
			}
			keepBusy := func() {
				for _, id := range working {
					for v := e.view(id); len(v.said) < len(v.ends)+2; v.said = append(v.said, commands) {
						e.prompt(id, commands)
					}
				}
			}
			for range rounds {
				keepBusy()
				for _, id := range e.promptNew(round, quick) {
					if got := e.ended(id, 1); got != endOK {
						t.Errorf("the first prompt of a new session ended as %q", got)
					}
				}
			}
			e.stop()
		})
	}
	t.Run("mcp", func(t *testing.T) {
		p, flags := begin(t)
		c := p.call(t, launch{}, flags...)
		var working []result
		for range busy {
			working = append(working, c.begin("", commands))
		}
		for range rounds {
			for i, r := range working {
				if s := c.use("agent_wait", object{"session_id": r.Structured.Session, "turn_id": r.Structured.Turn, "wait_seconds": 0}).Structured.Status; s != "running" {
					working[i] = c.begin(r.Structured.Session, commands)
				}
			}
			var asked []string
			var batch []any
			for range round {
				id, req := c.tool("agent_prompt", promptArgs("", quick))
				asked, batch = append(asked, id), append(batch, req)
			}
			c.send(batch...)
			for _, id := range asked {
				if r := c.result(id); r.IsError || r.Structured.Status != "completed" {
					t.Errorf("the first prompt of a new session: %q %s", r.Structured.Status, r.text())
				}
			}
		}
		c.stop()
	})
}

// promptNew begins sessions and prompts each of them as soon as it can.
func (e *editor) promptNew(n int, text string) (sessions []string) {
	e.t.Helper()
	var batch []any
	for range n {
		id := e.begin()
		sessions = append(sessions, id)
		if e.dialect.name == "acp" { // which has a word for beginning a session, and has answered it
			e.prompt(id, text)
			continue
		}
		batch = append(batch, e.dialect.prompt(e, id, text))
	}
	e.send(batch...)
	return sessions
}
