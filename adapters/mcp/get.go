package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp/options"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/company"
	"dragoman/core/cursor"
	"dragoman/core/display"
	"dragoman/core/inference"
	"dragoman/core/notices"
)

const (
	maxEntryBytes = 32 << 10  // of one entry's text
	maxPageBytes  = 256 << 10 // of a page's texts
)

type getArgs struct {
	Session core.SessionID `json:"session_id"`
	After   string         `json:"after"`
	Limit   int            `json:"limit"`
}

type getResult struct {
	getHead
	Entries []entry `json:"entries"`
	Cursor  string  `json:"cursor"`
	More    bool    `json:"more"`
}

// getHead is the current state of a session.
type getHead struct {
	Session core.SessionID   `json:"session_id"`
	Title   string           `json:"title,omitempty"`
	Cwd     string           `json:"cwd"`
	Model   string           `json:"model,omitempty"`
	Updated time.Time        `json:"updated_at"`
	Status  string           `json:"status"`
	Turn    core.TurnID      `json:"turn_id,omitempty"`
	Missing string           `json:"missing,omitempty"`
	Agent   string           `json:"agent,omitempty"`   // "": the default one
	Options []options.Option `json:"options,omitempty"` // of an external agent
	Clients []string         `json:"clients,omitempty"` // the others that are attached
}

// profileOf returns the profile of a session; nil: the configuration has an error.
func (c *client) profileOf(ctx context.Context, h *heldSession) *core.Profile {
	prof, err := c.server.opts.Gateway.Profile(ctx, c.server.opts.Profiles, h.a.Meta().Roots)
	if err != nil {
		return nil // the next prompt says so
	}
	return prof
}

// modelOf returns the model that a session asks next; empty: it is not known.
func modelOf(prof *core.Profile, st core.State) string {
	if st.Offered.Agent != "" && st.Offered.Agent == st.Settings.Agent {
		return st.Summary().Model
	}
	return inference.Next(prof, st.Settings)
}

// head returns the current state of the session.
func (h *heldSession) head(prof *core.Profile) getHead {
	is := headOf(prof, h.a.State())
	is.Clients = company.Names(board.Clients(h.board, h.a.Meta().Principal, h.id), h.a.Client().ID)
	return is
}

func headOf(prof *core.Profile, st core.State) getHead {
	return getHead{
		Session: st.Meta.ID, Title: st.Title, Cwd: st.Meta.Cwd, Model: modelOf(prof, st), Updated: st.Updated.UTC(),
		Status: stateStatus(st), Turn: st.Turn, Missing: st.Missing, Agent: st.Settings.Agent, Options: options.List(st),
	}
}

// entry is one message or action.
type entry struct {
	Type   string      `json:"type"`
	Turn   core.TurnID `json:"turn_id,omitempty"`
	Text   string      `json:"text,omitempty"`
	Name   string      `json:"name,omitempty"`
	Status string      `json:"status,omitempty"`

	message core.MessageID
	size    int // of the whole text
}

// The types of an entry that are not those of an event.
const (
	entryUser  = "user"
	entryAgent = "agent"
)

// get is the tool session_get: it reads the log up to its present end, and never waits for more.
func (c *client) get(ctx context.Context, by *call, req *mcp.CallToolRequest, in getArgs) (*mcp.CallToolResult, any, error) {
	by.Place.Leave()
	after, err := cursor.Parse(in.After)
	if err != nil {
		return refusal("after: %v.", err), nil, nil
	}
	h, err := c.open(ctx, req, in.Session)
	if err != nil {
		return failed(in.Session, err)
	}
	out, err := h.page(ctx, c.profileOf(ctx, h), after, cmp.Or(in.Limit, 50))
	if err != nil {
		return failed(h.id, err)
	}
	return said(out.say()), out, nil
}

// page returns the transcript after a position, at most limit entries of it.
func (h *heldSession) page(ctx context.Context, prof *core.Profile, after core.Pos, limit int) (getResult, error) {
	t := transcript{limit: limit, pos: after, self: h.a.Client().Name}
	if err := t.read(ctx, h.a); err != nil {
		return getResult{}, err
	}
	return getResult{getHead: h.head(prof), Entries: t.page(), Cursor: cursor.Format(t.pos), More: t.full}, nil
}

// transcript is a page of a session's log. Records come in order, runs in any pieces.
type transcript struct {
	limit   int
	pos     core.Pos // the end of the page
	self    string   // the client's name: what others have said has theirs
	entries []entry
	turn    core.TurnID
	bytes   int
	full    bool // there is more
}

// read reads the log up to its present end.
func (t *transcript) read(ctx context.Context, a *core.Attachment) error {
	head := a.Head()
	r := a.Read(t.pos)
	defer r.Close()
	for r.Pos().Before(head) && !t.full {
		recs, err := r.Until(ctx, head)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			t.add(rec)
		}
	}
	if !t.full {
		t.pos = r.Pos()
	}
	return nil
}

// add takes one record, unless the page is full.
func (t *transcript) add(r core.Record) {
	if t.full || r.Seq == 0 {
		return
	}
	e, ok := t.entry(r.Event)
	if ok && !t.join(e) {
		if len(t.entries) == t.limit || t.bytes > maxPageBytes {
			t.full = true
			return
		}
		e.size = len(e.Text)
		e.Text = display.Cut(e.Text, maxEntryBytes)
		t.bytes += len(e.Text)
		t.entries = append(t.entries, e)
	}
	t.pos = r.End()
}

// join appends a part of a message to the entry that has its beginning.
func (t *transcript) join(e entry) bool {
	last := len(t.entries) - 1
	if last < 0 || e.Type != entryAgent || t.entries[last].Type != entryAgent || t.entries[last].message != e.message {
		return false
	}
	l := &t.entries[last]
	l.size += len(e.Text)
	if room := maxEntryBytes - len(l.Text); room > 0 {
		more := display.Cut(e.Text, room)
		l.Text += more
		t.bytes += len(more)
	}
	return true
}

// page returns the collected entries; cut texts are marked.
func (t *transcript) page() []entry {
	out := slices.Clone(t.entries)
	for i, e := range out {
		if cut := e.size - len(e.Text); cut > 0 {
			out[i].Text += fmt.Sprintf("\n[… %d bytes more]", cut)
		}
	}
	if out == nil {
		out = []entry{}
	}
	return out
}

// entry returns the entry for a record in a transcript.
//
// Deliberately there is none for: thoughts, calls that have not ended, arguments and output as
// they stream, questions and their answers (the call has their result), queued prompts, usage,
// titles and settings, and the log's own bookkeeping.
func (t *transcript) entry(ev core.Event) (entry, bool) {
	switch e := any(ev).(type) {
	case core.TurnStarted:
		t.turn = e.Turn
		return entry{Type: entryUser, Turn: e.Turn, Text: blocksText(e.Prompt), Name: company.Speaker(e.Origin, t.self)}, len(e.Prompt) > 0
	case core.Steered:
		return entry{Type: entryUser, Turn: e.Turn, Text: blocksText(e.Prompt), Name: company.Speaker(e.Origin, t.self)}, true
	case core.TextDelta:
		return entry{Type: entryAgent, Turn: t.turn, Text: e.Text, message: e.Message}, true
	case core.CallChanged:
		return entry{Type: eventTool, Turn: e.Call.Turn, Name: toolName(e.Call), Status: callStatus(e.Call.State), Text: summary(e.Call)}, e.Call.State.Ended()
	case core.PlanChanged:
		return entry{Type: eventPlan, Turn: t.turn, Text: planText(e)}, true
	case core.Notice, core.Missing, core.FellBack, core.Instructed, core.Briefed:
		n, _ := notices.Of(ev)
		return entry{Type: eventNotice, Status: string(n.Severity), Text: n.Text}, true
	case core.Foreign:
		return entry{Type: eventNotice, Turn: t.turn, Status: string(core.Info), Text: e.Text}, e.Text != ""
	case core.TurnEnded:
		return entry{Type: eventEnded, Turn: e.Turn, Status: stopStatus(e.Stop), Text: e.Err}, true
	}
	return entry{}, false
}

// blocksText returns a prompt as text; other content is named.
func blocksText(blocks []core.Block) string {
	parts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		switch b := b.(type) {
		case core.Text:
			parts = append(parts, b.Text)
		case core.Image:
			parts = append(parts, "[image "+b.MIME+"]")
		case core.Audio:
			parts = append(parts, "[audio "+b.MIME+"]")
		case core.Link:
			parts = append(parts, "["+b.URI+"]")
		case core.Resource:
			parts = append(parts, "["+b.URI+"]")
		case core.Diff:
			parts = append(parts, "[change to "+b.Path+"]")
		case core.Terminal: // its output is a text of its own
		}
	}
	return strings.Join(parts, "\n")
}

// say returns a page as text for a model.
func (r getResult) say() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s (%s) in %s: %s\n", r.Session, r.Status, r.Cwd, cmp.Or(r.Title, "untitled"))
	if r.Missing != "" { // anywhere in the session
		fmt.Fprintf(&b, "%s\n", r.Missing)
	}
	if others := company.Attached(r.Clients); others != "" {
		fmt.Fprintf(&b, "%s\n", others)
	}
	for _, o := range r.Options {
		fmt.Fprintf(&b, "Option of agent %s: %s\n", r.Agent, o)
	}
	for _, e := range r.Entries {
		switch e.Type {
		case entryUser:
			fmt.Fprintf(&b, "\nUser%s: %s\n", inParentheses(e.Name), e.Text)
		case entryAgent:
			fmt.Fprintf(&b, "\nAgent: %s\n", e.Text)
		case eventTool:
			fmt.Fprintf(&b, "\nTool %s (%s): %s\n", e.Name, e.Status, e.Text)
		case eventEnded:
			if e.Status != statusCompleted {
				fmt.Fprintf(&b, "\nThe turn ended: %s. %s\n", e.Status, e.Text)
			}
		default:
			fmt.Fprintf(&b, "\n%s: %s\n", e.Type, e.Text)
		}
	}
	if r.More {
		fmt.Fprintf(&b, "\nThere is more: pass after: %q.\n", r.Cursor)
	}
	return b.String()
}

// markdown returns a page as text for a person.
func (r getResult) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nSession %s in %s: %s.\n", cmp.Or(line(r.Title, 200), "Untitled"), r.Session, r.Cwd, r.Status)
	for _, e := range r.Entries {
		switch e.Type {
		case entryUser:
			fmt.Fprintf(&b, "\n## User%s\n\n%s\n", inParentheses(e.Name), e.Text)
		case entryAgent:
			fmt.Fprintf(&b, "\n## Agent\n\n%s\n", e.Text)
		case eventTool:
			fmt.Fprintf(&b, "\n- **%s** (%s): %s\n", e.Name, e.Status, e.Text)
		case eventPlan:
			fmt.Fprintf(&b, "\n### Plan\n\n%s", e.Text)
		case eventEnded:
			if e.Status != statusCompleted {
				fmt.Fprintf(&b, "\n*The turn ended: %s. %s*\n", e.Status, line(e.Text, maxSummary))
			}
		default:
			fmt.Fprintf(&b, "\n> %s\n", line(e.Text, maxSummary))
		}
	}
	if r.More {
		fmt.Fprintf(&b, "\n---\nThere is more: %s?after=%s\n", transcriptURI(r.Session), r.Cursor)
	}
	return b.String()
}
