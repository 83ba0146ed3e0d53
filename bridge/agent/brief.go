package agent

import (
	"context"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// maxBrief limits a brief, in bytes; the newest part stays.
const maxBrief = 24 << 10

// briefOf returns what was said in a session before a turn, for an agent that does not know it;
// "": nothing was.
func briefOf(ctx context.Context, t *core.Turn) (string, error) {
	var parts []string
	var text strings.Builder
	var of core.MessageID
	flush := func() {
		if text.Len() > 0 {
			parts = append(parts, "Agent: "+strings.TrimSpace(text.String()))
			text.Reset()
		}
	}
	for r, err := range t.Records(ctx, core.Pos{}) {
		if err != nil {
			return "", err
		}
		switch e := any(r.Event).(type) {
		case core.TurnStarted:
			flush()
			if e.Turn == t.ID() {
				break
			}
			if said := plain(e.Prompt); said != "" {
				parts = append(parts, "User: "+said)
			}
		case core.Steered:
			flush()
			parts = append(parts, "User: "+plain(e.Prompt))
		case core.TextDelta:
			if e.Message != of {
				flush()
				of = e.Message
			}
			text.WriteString(e.Text)
		case core.CallChanged:
			if e.Call.State.Ended() {
				flush()
				parts = append(parts, "Agent used "+e.Call.Tool+": "+display.Line(e.Call.Title, 200)+" ("+string(e.Call.State)+")")
			}
		case core.Compacted:
			if e.Summary == "" { // only the agent knows it, so what was said before still counts
				break
			}
			flush()
			parts = []string{"Summary: " + e.Summary}
		}
	}
	flush()
	if len(parts) == 0 {
		return "", nil
	}
	brief := display.CutEnd(strings.Join(parts, "\n\n"), maxBrief)
	return "This conversation has begun without you. What was said so far:\n\n<conversation>\n" + brief +
		"\n</conversation>\n\nGo on from there. The user's next message follows.", nil
}

// plain returns the texts of a message.
func plain(blocks []core.Block) string {
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
