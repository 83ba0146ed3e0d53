package ecaserver

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
	"dragoman/core/jsonscan"
)

// text takes a text: a part of the agent's answer, words of the server, or a message of the user.
func (c *chat) text(r received, t eca.TextContent) {
	switch r.Role {
	case eca.RoleUser:
		c.userText(t)
	case eca.RoleSystem:
		c.pause()
		if said := strings.TrimSpace(t.Text); said != "" && !c.talk.failed(c, said) {
			c.emit(core.Notice{Severity: core.Info, Text: said})
		}
	case eca.RoleAssistant, "":
		if t.Text == "" {
			return
		}
		c.endThought(0)
		if c.message == "" {
			c.message, c.said = core.MessageID(c.newID("m")), ""
			c.lastText = c.message
		}
		if c.parent != nil && len(c.said) < maxSaid {
			c.said += t.Text
		}
		c.emit(core.TextDelta{Message: c.message, Text: t.Text})
	}
}

// userText takes a message of the user. Live it is an echo, and tells that a message to the turn has
// reached the model.
func (c *chat) userText(t eca.TextContent) {
	c.pause()
	if c.talk.opens() && t.ContentID != "" {
		c.repeated = append(c.repeated, t.ContentID)
	}
	if in := c.imports(); in != nil {
		in.Say([]core.Block{core.Text{Text: strings.TrimSuffix(t.Text, "\n")}})
		return
	}
	if c.parent == nil {
		c.talk.echoed(t)
	}
}

// url takes a page that the agent mentions.
func (c *chat) url(_ received, u eca.URLContent) {
	c.endThought(0)
	c.emit(core.Cited{Message: cmp.Or(c.message, c.lastText), Link: core.Link{URI: u.URL, Title: u.Title}})
}

// reason takes the beginning, a part or the end of a thought. A part without a beginning begins one.
func (c *chat) reason(_ received, t eca.ReasonContent) {
	if t.Type != eca.TypeReasonStarted && c.thought != "" && t.ID != c.theirs && t.Type == eca.TypeReasonFinished {
		return // another one has begun, which has ended it
	}
	if t.Type == eca.TypeReasonFinished {
		took := time.Duration(0)
		if t.TotalTimeMs != nil {
			took = time.Duration(min(max(*t.TotalTimeMs, 0), maxMs)) * time.Millisecond
		}
		c.endThought(took)
		return
	}
	if c.thought == "" || t.ID != c.theirs || t.Type == eca.TypeReasonStarted {
		c.pause()
		c.thought, c.theirs, c.since = core.ThoughtID(c.newID("h")), t.ID, c.talk.b.o.Time()
		c.emit(core.ThoughtStarted{Thought: c.thought})
	}
	if t.Text != "" {
		c.emit(core.ThoughtDelta{Thought: c.thought, Text: t.Text})
	}
}

// maxMs limits a time that a server reports, in milliseconds: a year.
const maxMs = 365 * 24 * 3600 * 1000

// endThought ends the thought that is open; took 0: the server has not said how long it took.
func (c *chat) endThought(took time.Duration) {
	if c.thought == "" {
		return
	}
	if took == 0 {
		took = c.talk.b.o.Time().Sub(c.since)
	}
	c.emit(core.ThoughtEnded{Thought: c.thought, Took: took})
	c.thought, c.theirs = "", ""
}

// phases maps the progress texts of known servers to phases of a turn.
var phases = map[string]core.PhaseKind{
	"waiting model": core.PhaseWaiting, "generating": core.PhaseGenerating, "thinking": core.PhaseGenerating, "calling tool": core.PhaseCalling,
	"compacting": core.PhaseCompacting, "compacting context": core.PhaseCompacting, "summing the conversation up": core.PhaseCompacting,
}

// progress takes a sign of life, or the end of a turn.
func (c *chat) progress(_ received, p eca.ProgressContent) {
	if p.State == eca.ProgressFinished {
		c.over()
		if c.parent == nil {
			c.talk.finished()
		}
		return
	}
	if c.parent == nil {
		c.talk.moves()
	}
	t := c.stage.Current()
	if c.busy == p.Text || t == nil || c.imports() != nil {
		return
	}
	c.busy = p.Text
	kind := cmp.Or(phases[strings.ToLower(strings.TrimSpace(p.Text))], core.PhaseWaiting)
	c.emit(core.Phase{Turn: t.ID(), Kind: kind})
}

// usage is a content of that type. Numbers and costs may be missing, and costs may be texts or numbers.
type usage struct {
	In          int               `json:"messageInputTokens"`
	Out         int               `json:"messageOutputTokens"`
	Session     int               `json:"sessionTokens"`
	Cost        json.RawMessage   `json:"lastMessageCost"`
	Cost001     json.RawMessage   `json:"messageCost"`
	SessionCost json.RawMessage   `json:"sessionCost"`
	Limit       *eca.Limit        `json:"limit"`
	CompactAt   int               `json:"autoCompactPercentage"`
	Breakdown   *contextBreakdown `json:"contextBreakdown"`
}

type contextBreakdown struct {
	Categories []struct {
		Name   string `json:"name"`
		Tokens int    `json:"tokens"`
	} `json:"categories"`
	Used  int `json:"usedTokens"`
	Limit int `json:"contextLimit"`
}

// usage takes the tokens of an answer.
func (c *chat) usage(_ received, u usage) {
	t := c.stage.Current()
	if t == nil || c.imports() != nil {
		return // the next turn's usage counts
	}
	last := core.Usage{In: u.In, Out: u.Out, Cost: dollars(u.Cost)}
	if last.Cost == nil {
		last.Cost = dollars(u.Cost001)
	}
	before := t.State().Usage
	total := before.Add(last)
	if u.In+u.Out == 0 && u.Session > 0 { // today's document counts the session alone
		total.In = max(u.Session-total.Out, total.In)
	}
	if cost := dollars(u.SessionCost); cost != nil {
		total.Cost = cost
	}
	e := core.UsageChanged{Turn: t.ID(), Last: last, Total: total, Context: cmp.Or(u.In+u.Out, u.Session), CompactAt: u.CompactAt, Model: c.talk.modelNow()}
	if u.Limit != nil {
		e.Window = u.Limit.Context
	}
	if b := u.Breakdown; b != nil {
		e.Context, e.Window = cmp.Or(b.Used, e.Context), cmp.Or(e.Window, b.Limit)
		for _, part := range b.Categories {
			e.Shares = append(e.Shares, core.Share{Part: partOf(part.Name), Tokens: part.Tokens})
		}
	}
	if e.Window > 0 {
		e.Context = min(e.Context, max(e.Window, 1)) // some count the session's tokens, which may be more
	}
	c.emit(e)
	if l := t.Limits(); l != nil {
		l.Report(t, e.Since(before))
	}
}

// partOf returns the name that we have for a part of a window, or the server's.
func partOf(title string) string {
	for _, part := range []string{
		inference.PartSystem, inference.PartInstructions, inference.PartRules, inference.PartSkills, inference.PartContext, inference.PartTools,
		inference.PartCalls, inference.PartMessages,
	} {
		if strings.EqualFold(inference.PartTitle(part), title) || strings.EqualFold(part, title) {
			return part
		}
	}
	return display.Line(title, 60)
}

// dollars reads an amount; nil: it is unknown.
func dollars(raw json.RawMessage) *float64 {
	text := cmp.Or(jsonscan.Text(raw), string(raw))
	amount, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(text), "$"), 64)
	if err != nil || amount < 0 || amount > 1e9 {
		return nil
	}
	return &amount
}

// metadata takes a title, unless a person has named the session, or the server would name it by a brief.
func (c *chat) metadata(_ received, m eca.MetadataContent) {
	title := display.Line(strings.TrimSpace(m.Title), maxTitle)
	c.talk.mu.Lock()
	briefed := c.talk.briefed && c == c.talk.root
	c.talk.mu.Unlock()
	if t := c.stage.Current(); title == "" || briefed || t != nil && (t.State().Named || t.State().Title == title) {
		return
	}
	c.apart(core.TitleChanged{Title: title, Auto: true})
}

// flag takes a mark of the message before it.
func (c *chat) flag(r received, f eca.FlagContent) {
	if in := c.imports(); in != nil {
		in.Flag(f.Text)
		return
	}
	c.pause()
	c.emit(core.Foreign{Protocol: protocol, Raw: rawOf(r), Text: "Marked: " + display.Line(f.Text, 200)})
}

// image takes an image of the agent's.
func (c *chat) image(r received, i eca.ImageContent) {
	c.pause()
	b := core.Image{MIME: i.MediaType, Data: i.Base64}
	e := core.Foreign{Protocol: protocol, Text: "[image " + display.Line(i.MediaType, 60) + "]", Content: []core.Block{b}}
	if len(r.Content) <= maxForeign {
		e.Raw = rawOf(r)
	}
	c.emit(e)
}
