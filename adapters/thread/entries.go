package thread

import (
	"context"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/company"
)

// getThreadEntries lists the messages and the files that were read, from the log: so the list is
// the same in every process.
func (s *Server) getThreadEntries(ctx context.Context, t *thread, call *wire.Call, _ acp.ThreadID) error {
	e := entries{list: []acp.ThreadEntry{}, self: t.att.Client().Name}
	for rec, err := range t.att.Records(ctx, core.Pos{}, t.att.Head()) {
		if err != nil {
			return err
		}
		e.add(rec.Event)
	}
	call.Reply(acp.GetThreadEntriesResponse{Entries: e.list}, nil)
	return nil
}

// entries folds a log into a thread's entries.
type entries struct {
	list    []acp.ThreadEntry
	message core.MessageID // the message of the last entry
	self    string         // the client's name: what others have said has theirs
}

func (e *entries) add(ev core.Event) {
	switch ev := any(ev).(type) {
	case core.TurnStarted:
		e.user(ev.Prompt, ev.Origin)
	case core.Steered:
		e.user(ev.Prompt, ev.Origin)
	case core.TextDelta:
		if n := len(e.list); n > 0 && ev.Message == e.message {
			e.list[n-1].Chunks[0].Chunk += ev.Text
			return
		}
		e.say(acp.RoleAssistant, ev.Text)
		e.message = ev.Message
	case core.CallChanged:
		e.read(ev.Call)
	}
}

func (e *entries) say(role, text string) {
	e.list = append(
		e.list,
		acp.ThreadEntry{
			Type:   "message",
			Role:   role,
			Chunks: []acp.MessageChunk{{Type: "text", Chunk: text}},
		},
	)
	e.message = ""
}

// user adds a user's message; only text has a form here.
func (e *entries) user(prompt []core.Block, by core.Origin) {
	var b strings.Builder
	if name := company.Speaker(by, e.self); name != "" && len(prompt) > 0 {
		b.WriteString(name + ": ")
	}
	for _, block := range prompt {
		switch block := block.(type) {
		case core.Text:
			b.WriteString(block.Text)
		case core.Link:
			b.WriteString("[" + block.URI + "]")
		case core.Resource:
			b.WriteString("[" + block.URI + "]")
		case core.Image, core.Audio, core.Diff, core.Terminal:
		}
	}
	if b.Len() > 0 {
		e.say(acp.RoleUser, b.String())
	}
}

// read adds a file that was read: its text is the first block of the result.
func (e *entries) read(c core.Call) {
	if c.State != core.Succeeded || c.Kind != core.KindRead || len(c.Locations) != 1 || len(c.Content) == 0 {
		return
	}
	text, ok := c.Content[0].(core.Text)
	if !ok {
		return
	}
	if strings.HasPrefix(text.Text, "[") &&
		strings.HasSuffix(text.Text, " is empty]") { // read_file's text for it
		text.Text = ""
	}
	e.list = append(e.list, acp.ThreadEntry{Type: "readFile", Path: c.Locations[0].Path, Content: &text.Text})
	e.message = ""
}
