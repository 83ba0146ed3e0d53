package mcp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/notices"
)

// turnResult is the structured result of agent_prompt and, with events, of agent_wait.
type turnResult struct {
	Session   core.SessionID    `json:"session_id"`
	Turn      core.TurnID       `json:"turn_id"`
	Status    string            `json:"status"`
	Text      string            `json:"text"`
	Next      string            `json:"next,omitempty"` // the tool to call; "": the turn has ended
	Stop      string            `json:"stop_reason,omitempty"`
	By        string            `json:"prompted_by,omitempty"` // another client
	Calls     []callResult      `json:"tool_calls,omitempty"`
	Approvals []approval        `json:"pending_approvals,omitempty"`
	Questions []pendingQuestion `json:"pending_questions,omitempty"`
	Usage     *usageResult      `json:"usage,omitempty"`
	Events    []event           `json:"events,omitempty"`
	Cursor    string            `json:"cursor,omitempty"`

	answer string       // the text of the agent
	media  []core.Block // images, sounds and links of the agent
	who    []answerer   // who may answer each pending ask
}

type callResult struct {
	ID      core.CallID `json:"id"`
	Name    string      `json:"name"`
	Status  string      `json:"status"`
	Summary string      `json:"summary,omitempty"`
}

type approval struct {
	ID      core.AskID `json:"approval_id"`
	Tool    string     `json:"tool"`
	Summary string     `json:"summary"`
	Options []string   `json:"options"`           // the decisions that agent_approve takes
	Choices []choice   `json:"choices,omitempty"` // of an agent's own list, those that agent_approve takes
	Note    string     `json:"note,omitempty"`    // the reason why it can only reject
}

// choice is an answer of an agent's own list.
type choice struct {
	ID       string `json:"option_id"`
	Label    string `json:"label"`
	Decision string `json:"decision"` // its meaning
}

type usageResult struct {
	In         int      `json:"input_tokens"`
	Out        int      `json:"output_tokens"`
	CacheRead  int      `json:"cache_read_tokens,omitempty"`
	CacheWrite int      `json:"cache_write_tokens,omitempty"`
	Reasoning  int      `json:"reasoning_tokens,omitempty"`
	Cost       *float64 `json:"cost_usd,omitempty"`
	Estimated  bool     `json:"estimated,omitempty"`
	Model      string   `json:"model,omitempty"` // the one that answered, if it is not the requested one
}

// result returns the result of the fold. asks are the open ones.
func (t *turn) result(session core.SessionID, asks []core.Ask) turnResult {
	r := turnResult{Session: session, Turn: t.id, Status: t.status(), answer: t.text.String(), Stop: string(t.stop)}
	if r.Status == statusAwaiting && len(asks) == 0 {
		r.Status = statusRunning
	}
	if t.fell.Instead != "" {
		r.note(notices.Text(t.fell))
	}
	if t.ended {
		r.media = t.media
	}
	if t.err != "" {
		r.answer = strings.TrimPrefix(r.answer+"\n\n"+t.err, "\n\n")
	}
	for _, c := range t.calls {
		r.Calls = append(r.Calls, callResult{ID: c.ID, Name: toolName(c), Status: callStatus(c.State), Summary: summary(c)})
	}
	if t.more > 0 {
		r.Calls = append(r.Calls, callResult{Name: "more", Status: statusCompleted, Summary: fmt.Sprintf("%d more calls", t.more)})
	}
	if !t.ended {
		for _, a := range asks {
			if a.Kind != core.AskApproval {
				r.Questions = append(r.Questions, pendingOf(a))
			} else {
				r.Approvals = append(r.Approvals, t.approval(a))
			}
		}
	}
	if t.usage != (core.Usage{}) {
		r.Usage = usageOf(t.usage, t.fell.Instead)
	}
	return r
}

func usageOf(u core.Usage, model string) *usageResult {
	return &usageResult{u.In, u.Out, u.CacheRead, u.CacheWrite, u.Reasoning, u.Cost, u.Estimated, model}
}

// note puts a sentence that is not the agent's before its text.
func (r *turnResult) note(text string) { r.answer = strings.TrimSpace("[" + text + "]\n\n" + r.answer) }

func (t *turn) approval(a core.Ask) approval {
	c := t.callOf(a)
	text := summary(c)
	if args := display.Args(c.Args, 2000); args != "" {
		text = strings.TrimPrefix(text+"; arguments: "+args, "; ")
	}
	options := []string{decisionOnce, decisionAlways, decisionReject, decisionRejectAlways}
	if a.Remember == "" {
		options = []string{decisionOnce, decisionReject}
	}
	p := approval{ID: a.ID, Tool: toolName(c), Summary: text, Options: options}
	if !a.Fits() {
		p.Options = []string{decisionReject}
		list, others := choicesOf(a)
		if p.Choices = list; len(others) > 0 {
			p.Note = "only a person may choose " + strings.Join(others, " or ")
		}
	}
	return p
}

// choicesOf returns the choices of an agent's own list that agent_approve takes, and the labels of the
// others.
func choicesOf(a core.Ask) (list []choice, others []string) {
	for _, o := range a.Options {
		if label := line(o.Label, maxSummary); o.Decision == core.AllowSession || o.Decision == "" {
			others = append(others, fmt.Sprintf("%q", label))
		} else {
			list = append(list, choice{o.ID, label, nameOf(o.Decision)})
		}
	}
	return list, others
}

// waiting returns the turn's asks that are still open in the session.
func (t *turn) waiting(pending []core.Ask) []core.Ask {
	var asks []core.Ask
	for _, a := range t.asks {
		if slices.ContainsFunc(pending, func(p core.Ask) bool { return p.ID == a.ID }) {
			asks = append(asks, a)
		}
	}
	return asks
}

// toolResult returns a result for a client of a version: a text for the calling model, links to
// the rest, and the structured result for programs. Links have been contents since 2025-06-18.
func (r turnResult) toolResult(version string) *mcp.CallToolResult {
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.say()}}, IsError: r.Status == statusFailed}
	for _, b := range r.media {
		if c := mediaOf(b, version); c != nil {
			res.Content = append(res.Content, c)
		}
	}
	if version >= proto.Forms {
		res.Content = append(res.Content, &mcp.ResourceLink{URI: transcriptURI(r.Session), Name: "transcript", MIMEType: mimeMarkdown})
	}
	return res
}

// mediaOf returns content that is no text, for a client of a version; nil: it has no form for it. Sounds
// have been contents since 2025-03-26.
func mediaOf(b core.Block, version string) mcp.Content {
	switch b := b.(type) {
	case core.Image:
		return &mcp.ImageContent{Data: b.Data, MIMEType: b.MIME}
	case core.Audio:
		if version >= proto.Batches {
			return &mcp.AudioContent{Data: b.Data, MIMEType: b.MIME}
		}
	case core.Link:
		if version >= proto.Forms {
			return &mcp.ResourceLink{URI: b.URI, Name: cmp.Or(b.Name, b.URI), Title: b.Title, Description: b.Description, MIMEType: b.MIME}
		}
	case core.Text, core.Resource, core.Diff, core.Terminal:
	}
	return nil
}

// say returns the result in words.
func (r *turnResult) say() string {
	switch r.Status {
	case statusRunning:
		return fmt.Sprintf("The turn is still running. Call agent_wait with session_id %q and turn_id %q for its result.", r.Session, r.Turn)
	case statusAwaiting:
		var b strings.Builder
		if len(r.Approvals) > 0 {
			b.WriteString("The turn waits for a decision on:\n")
		}
		for _, a := range r.Approvals {
			fmt.Fprintf(&b, "- %s (approval_id %q): %s%s\n", a.Tool, a.ID, a.Summary, inParentheses(a.Note))
			for _, o := range a.Choices {
				fmt.Fprintf(&b, "  - option_id %q: %s\n", o.ID, o.Label)
			}
		}
		if len(r.Questions) > 0 {
			b.WriteString("The agent asks the user:\n")
		}
		for _, q := range r.Questions {
			fmt.Fprintf(&b, "- %s\n  (approval_id %q; answer: %s)%s\n", q.Question, q.ID, q.answers(), inParentheses(q.Note))
		}
		return b.String() + r.instructions()
	case statusCancelled:
		return strings.TrimSpace("The turn was cancelled.\n\n" + r.answer)
	case statusRefused:
		return strings.TrimSpace("The model refused to answer.\n\n" + r.answer)
	case statusMaxTurns:
		if r.Stop == string(core.StopLimit) { // the answer ends with the reason
			return r.answer
		}
		return strings.TrimSpace(r.answer + "\n\n[The turn ended because it made as many requests to its model as it may.]")
	case statusFailed:
		if r.answer == "" {
			return "The turn failed."
		}
		return r.answer
	}
	switch {
	case r.answer == "":
		return "The turn has ended without a text."
	case r.Stop == string(core.StopTokens):
		return r.answer + "\n\n[The answer stops here because the model may not say more at once.]"
	}
	return r.answer
}

// inParentheses formats a note to follow another text; "" for none.
func inParentheses(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}

// refusal returns a tool's error: the fault and advice, for the calling model.
func refusal(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}, IsError: true}
}
