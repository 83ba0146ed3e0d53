package bridge_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// arrives have a prompt as an agent of a protocol gets it; that of ACP gets it as it is.
var arrives = map[string]func([]core.Block) []core.Block{"eca": inContexts}

// inContexts returns a prompt as an ECA server has it: a text, and images behind it. What else is attached is
// in its context, and no part of the message, which has its name if it stands between texts.
func inContexts(prompt []core.Block) []core.Block {
	text, names := "", ""
	list := []core.Block{nil}
	for _, b := range prompt {
		switch b := b.(type) {
		case core.Text:
			if text != "" {
				text += names
			}
			text, names = text+b.Text, ""
		case core.Link:
			names += cmp.Or(b.Name, path.Base(b.URI))
		case core.Resource:
			names += path.Base(b.URI)
		case core.Image:
			if len(b.Data) > 0 {
				list = append(list, core.Image{MIME: b.MIME, Data: b.Data})
			}
		}
	}
	list[0] = core.Text{Text: text}
	return list
}

// chat shows events as the contents of an ECA chat have them.
type chat struct {
	list    []core.Event
	over    bool                   // it is above ACP
	beside  bool                   // ACP is above or below it
	inWords map[core.CallID]string // titles of calls whose approval is a question, because the answers are an agent's own
	written map[core.CallID]bool   // calls whose arguments were written
}

// inECA shows events as ECA has them. Above ACP all approvals are questions, because an ACP agent offers more
// answers than ECA has buttons; and how full the window is is not known before the tokens of the turn are.
func inECA(events []core.Event, stack []string) []core.Event {
	below := slices.Contains(stack[slices.Index(stack, "eca"):], "acp")
	c := chat{beside: slices.Contains(stack, "acp"), over: below, inWords: map[core.CallID]string{}, written: map[core.CallID]bool{}}
	for _, ev := range events {
		if e, ok := ev.(core.Asked); ok && c.inQuestion(e.Ask) {
			c.inWords[e.Ask.Call] = ""
		}
	}
	for _, ev := range events {
		c.event(ev)
	}
	return c.list
}

// inQuestion reports whether an approval is put as a question.
func (c *chat) inQuestion(a core.Ask) bool {
	return a.Kind == core.AskApproval && (c.over || !a.Fits() && !ours(a))
}

// ours reports whether the answers to an approval are a gateway's own.
func ours(a core.Ask) bool {
	return slices.ContainsFunc(a.Options, func(o core.Option) bool {
		return o.Decision != "" && o.ID == string(o.Decision) || o.Label == "Allow"
	})
}

func (c *chat) add(ev core.Event) { c.list = append(c.list, ev) }

func (c *chat) event(ev core.Event) {
	if n, ok := noticeOf(ev); ok {
		ev = n
	}
	switch e := ev.(type) {
	case core.TextDelta: // messages have no ids
		c.add(core.TextDelta{Text: e.Text})
	case core.Notice:
		c.line(e.Text)
	case core.Compacted:
		c.line(summarized)
	case core.TurnEnded:
		c.line(cmp.Or(e.Err, endings[e.Stop]))
		if e.Stop != core.StopCanceled {
			e.Stop, e.Err = core.StopEnd, ""
		}
		c.add(e)
	case core.CallArgs:
		if e.Text == "{}" { // there are none
			return
		}
		c.written[e.Call] = true
		c.add(e)
	case core.CallChanged:
		c.call(e.Call)
	case core.Asked:
		c.asked(e)
	case core.UsageChanged:
		if c.over {
			e.Context = 0
		}
		e.Last.Cost, e.Total.Cost = shortened(e.Last.Cost), shortened(e.Total.Cost)
		c.add(e)
	case core.PlanChanged:
		c.add(core.PlanChanged{Entries: steps(e)})
	case core.Foreign: // an image is an update of the protocol
		if len(e.Content) == 1 {
			e = core.Foreign{Content: e.Content}
		}
		c.add(e)
	default:
		c.add(ev)
	}
}

// summarized is in the line that says that there is a summary.
const summarized = "The agent continues with a summary of the conversation above."

// endings are the lines that give the reason for the end of a turn.
var endings = map[core.StopReason]string{
	core.StopTokens:   "The answer was cut off at the model's limit for one answer.",
	core.StopRequests: "The turn was ended: it came to the limit of requests to the model.",
	core.StopRefusal:  "The model declined to answer.",
}

// line adds a line of the chat.
func (c *chat) line(text string) {
	if strings.HasSuffix(text, summarized) {
		text = summarized
	}
	if text = strings.TrimSpace(text); text != "" {
		c.add(core.Notice{Text: text})
	}
}

// asked adds a question. The first line of one that is an approval is the title of the call.
func (c *chat) asked(e core.Asked) {
	if c.inQuestion(e.Ask) {
		e.Ask.Kind, e.Ask.Text = core.AskQuestion, c.inWords[e.Ask.Call]
		e.Ask.Options = slices.Clone(e.Ask.Options)
		for i, o := range e.Ask.Options {
			e.Ask.Options[i] = core.Option{ID: o.ID, Label: display.Line(o.Label, 200), Description: o.Description}
		}
	}
	if e.Ask.Kind == core.AskQuestion {
		if ours(e.Ask) {
			e.Ask.Options = nil
		}
		e.Ask.Text, _, _ = strings.Cut(display.Seen(e.Ask.Text), "\n")
	}
	c.add(e)
}

// call adds a change of a call.
func (c *chat) call(now core.Call) {
	mine := now.Server == core.Native || now.Server == below
	if mine && now.Tool == "update_plan" { // the plan alone is shown
		return
	}
	if _, is := c.inWords[now.ID]; is {
		if c.inWords[now.ID] = display.Line(now.Title, 300); now.State == core.Awaiting { // its question is shown
			return
		}
	}
	if bytes.Equal(now.Args, []byte("{}")) {
		now.Args = nil
	}
	written := string(now.Args)
	switch now.State {
	case core.Proposed: // what it would do is told when it is asked about, or runs
		now.Args, now.Content = nil, nil
	case core.Awaiting, core.Running, core.Rejected, core.Canceled: // somebody decides, or has decided, by them
		if len(now.Args) > 0 {
			now.Args = spelled(now.Args)
		}
	case core.Succeeded, core.Errored:
	}
	result := now.State == core.Succeeded || now.State == core.Errored
	var diffs, texts, images []core.Block
	for _, b := range now.Content {
		if is, ok := b.(core.Image); ok && result {
			images = append(images, is)
		}
		if isDiff(b) {
			diffs = append(diffs, b)
		} else if text := asText(b); text != "" && result {
			texts = append(texts, core.Text{Text: text})
		}
	}
	if c.beside && slices.Equal(texts, []core.Block{core.Text{Text: "rejected"}}) { // by a question, and ACP has no state for it
		now.State, texts = core.Rejected, nil
	}
	if len(texts) == 0 && now.State == core.Errored && now.Why != "" {
		texts = append(texts, core.Text{Text: now.Why})
	}
	if now.State != core.Succeeded || now.Server == core.Native || len(diffs) > 0 { // there is no place for it
		now.Output = nil
	}
	now.Content = append(diffs, texts...)
	if mine {
		now.Server = ""
	}
	c.add(core.CallChanged{Call: now})
	if now.State == core.Proposed && written != "" && !c.written[now.ID] { // they come as they are written
		c.written[now.ID] = true
		c.add(core.CallArgs{Call: now.ID, Text: written})
	}
	for _, is := range images {
		c.add(core.Foreign{Content: []core.Block{is}})
	}
}

// steps returns the steps of a plan as ECA has them.
func steps(e core.PlanChanged) []core.PlanEntry {
	list := slices.Clone(e.Entries)
	for i, step := range list {
		list[i].Text, list[i].Priority = display.Plain(step.Text), cmp.Or(step.Priority, "medium")
	}
	return list
}

// taken returns turns as an ECA server is prompted for them, and tells them to a client: without sounds in the
// prompt, and without a plan that is the one before.
func taken(turns [][]core.Event) (list [][]core.Event) {
	var plan []core.PlanEntry
	for _, turn := range turns {
		var events []core.Event
		for _, ev := range turn {
			switch e := ev.(type) {
			case core.TurnStarted:
				e.Prompt = slices.DeleteFunc(slices.Clone(e.Prompt), func(b core.Block) bool { _, sound := b.(core.Audio); return sound })
				ev = e
			case core.PlanChanged:
				if now := steps(e); !slices.Equal(now, plan) {
					plan = now
				} else {
					continue
				}
			}
			events = append(events, ev)
		}
		list = append(list, events)
	}
	return list
}

// brackets are those around characters that are spelled out, spelled out themselves.
var brackets = strings.NewReplacer("⟨U+27E8⟩", "⟨", "⟨U+27E9⟩", "⟩")

// spelled returns arguments with their invisible characters spelled out, as often as that may have been done.
func spelled(args json.RawMessage) json.RawMessage {
	text := string(display.VisibleArgs(args))
	for once := brackets.Replace(text); once != text; once = brackets.Replace(text) {
		text = once
	}
	return json.RawMessage(text)
}

// shortened returns an amount with six digits behind the point.
func shortened(cost *float64) *float64 {
	if cost == nil {
		return nil
	}
	amount := math.Round(*cost*1e6) / 1e6
	return &amount
}

// asText returns the text that shows a result.
func asText(b core.Block) string {
	switch b := b.(type) {
	case core.Text:
		return b.Text
	case core.Image:
		return fmt.Sprintf("[image %s, %d bytes]", b.MIME, len(b.Data))
	case core.Audio:
		return fmt.Sprintf("[audio %s, %d bytes]", b.MIME, len(b.Data))
	case core.Link:
		if b.Name != "" {
			return "[" + b.Name + "](" + b.URI + ")"
		}
		return b.URI
	case core.Resource:
		return cmp.Or(b.Text, b.URI)
	}
	return ""
}
