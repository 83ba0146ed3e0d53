// Package brief tells an agent behind the gateway what was said in a session while it did not take part.
package brief

import (
	"context"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// Nothing is the position of an agent that knows nothing of what was said.
var Nothing = core.Pos{Seq: 1}

// most limits a brief, in bytes; the newest part stays.
const most = 24 << 10

const (
	unknown = "This conversation has begun without you. What was said so far:"
	before  = "This conversation went on without you. What was said since you answered last:"
)

// Give returns what was said in a session from a position on, before a turn, for the turn's agent. "": nothing was said. Everybody can read it in the log, behind
// a notice that it goes to the agent's provider.
func Give(ctx context.Context, t *core.Turn, agent string, since core.Pos) (string, error) {
	parts, err := said(ctx, t, since)
	if err != nil || len(parts) == 0 {
		return "", err
	}
	intro, what := unknown, "What was said so far"
	if since != Nothing {
		intro, what = before, "What was said since it answered last"
	}
	text := intro + "\n\n<conversation>\n" + display.CutEnd(strings.Join(parts, "\n\n"), most) +
		"\n</conversation>\n\nGo on from there. The user's next message follows."
	return text, t.Emit(ctx,
		core.Notice{Severity: core.Info, Text: "Agent " + agent + " answers now. " + what + " goes to it, and so to its provider."},
		core.Briefed{Turn: t.ID(), Agent: agent, Text: text},
	)
}

// used begins the line about a call.
const used = "Agent used "

// said lists the messages and calls of a session from a position on, before a turn.
func said(ctx context.Context, t *core.Turn, since core.Pos) (parts []string, err error) {
	var text strings.Builder
	var of core.MessageID
	flush := func() {
		if text.Len() > 0 {
			parts = append(parts, "Agent: "+strings.TrimSpace(text.String()))
			text.Reset()
		}
	}
	add := func(part string) {
		flush()
		parts = append(parts, part)
	}
	for r, err := range t.Records(ctx, since) {
		if err != nil {
			return nil, err
		}
		switch e := any(r.Event).(type) {
		case core.TurnStarted:
			flush()
			if said := Plain(e.Prompt); said != "" && e.Turn != t.ID() {
				add("User: " + said)
			}
		case core.Steered:
			add("User: " + Plain(e.Prompt))
		case core.TextDelta:
			if e.Message != of {
				flush()
				of = e.Message
			}
			text.WriteString(e.Text)
		case core.CallChanged:
			if e.Call.State.Ended() {
				add(used + e.Call.Tool + ": " + display.Line(e.Call.Title, 200) + " (" + string(e.Call.State) + ")")
			}
		case core.Compacted:
			if e.Summary == "" { // only the agent knows it, so what was said before still counts
				break
			}
			flush()
			kept := len(parts)
			for e.Step && kept > 0 && strings.HasPrefix(parts[kept-1], used) {
				kept--
			}
			parts = append([]string{"Summary: " + e.Summary}, parts[kept:]...)
		}
	}
	flush()
	return parts, nil
}

// Plain returns the texts of a message.
func Plain(blocks []core.Block) string {
	var list []string
	for _, b := range blocks {
		switch b := b.(type) {
		case core.Text:
			list = append(list, b.Text)
		case core.Link:
			list = append(list, b.URI)
		case core.Resource:
			list = append(list, b.URI)
		case core.Image:
			list = append(list, "[image]")
		case core.Audio:
			list = append(list, "[audio]")
		case core.Diff, core.Terminal:
		}
	}
	return strings.Join(list, "\n")
}
