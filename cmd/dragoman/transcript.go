package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"dragoman/core"
)

// printTranscript writes a session as Markdown, in constant memory.
func printTranscript(ctx context.Context, out io.Writer, s *core.Session) error {
	att := s.Attach(core.Client{Name: "dragoman sessions show", Role: core.Observe})
	defer att.Close()
	st, head := att.State(), att.Head()
	t := newTranscript(out)
	t.title(st)
	r := att.Read(core.Pos{})
	defer r.Close()
	for r.Pos().Before(head) {
		recs, err := r.Next(ctx)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			t.record(rec)
		}
	}
	t.block("")
	if st.Turn != "" {
		t.block("_A turn is running._")
	}
	return t.w.Flush()
}

func newTranscript(out io.Writer) *transcript { return &transcript{w: bufio.NewWriter(out)} }

// transcript writes records as text.
type transcript struct {
	w       *bufio.Writer
	speaker string // whose text is being written: a message's or a thought's id
	whole   bool   // its last line has an end
}

func (t *transcript) title(st core.State) {
	title := st.Title
	if title == "" {
		title = "Session without a title"
	}
	fmt.Fprintf(t.w, "# %s\n\n", oneLine(title, 200))
	fmt.Fprintf(t.w, "- id: %s\n- folder: %s\n", printable(string(st.Meta.ID)), printable(st.Meta.Cwd))
	fmt.Fprintf(t.w, "- begun: %s, used: %s\n", stamp(st.Meta.Created), stamp(st.Updated))
	if u := st.Usage; u != (core.Usage{}) {
		about := ""
		if u.Estimated {
			about = ", estimated"
		}
		fmt.Fprintf(t.w, "- tokens: %d in, %d out%s\n", u.In, u.Out, about)
	}
}

func stamp(t time.Time) string { return t.Local().Format(time.DateTime) }

// block begins a new paragraph and writes it, unless it is empty.
func (t *transcript) block(s string) {
	if t.speaker != "" && !t.whole {
		t.w.WriteString("\n")
	}
	t.speaker = ""
	if s != "" {
		fmt.Fprintf(t.w, "\n%s\n", s)
	}
}

// stream writes a part of a text that belongs together.
func (t *transcript) stream(id, head, text string) {
	if t.speaker != id {
		t.block("")
		t.w.WriteString("\n" + head)
		t.speaker = id
	}
	t.w.WriteString(printable(text))
	t.whole = strings.HasSuffix(text, "\n")
}

func (t *transcript) record(r core.Record) {
	switch e := r.Event.(type) {
	case core.TurnStarted:
		if len(e.Prompt) > 0 {
			t.prompt("You", e.Origin, e.Prompt, r.Time)
		}
	case core.Steered:
		t.prompt("You, meanwhile", e.Origin, e.Prompt, r.Time)
	case core.TextDelta:
		t.stream("m"+string(e.Message), "", e.Text)
	case core.ThoughtDelta:
		t.stream("t"+string(e.Thought), "_Thinking:_ ", e.Text)
	case core.CallChanged:
		t.call(e.Call)
	case core.PlanChanged:
		t.block(planText(e.Entries))
	case core.Asked:
		if e.Ask.Kind != core.AskApproval {
			t.block("**Question:** " + printable(asked(e.Ask)))
		}
	case core.Answered:
		t.answered(e)
	case core.Notice:
		t.block("_" + string(e.Severity) + ": " + oneLine(e.Text, 500) + "_")
	case core.Missing:
		t.block("_" + printable(e.Text) + "_")
	case core.FellBack:
		t.block("_" + oneLine(e.Notice().Text, 500) + "_")
	case core.TurnEnded:
		if text := endText(e); text != "" {
			t.block("_" + printable(text) + "_")
		}
	case core.Truncated:
		t.block("_What stood behind this point was taken back._")
	case core.Opened, core.Claimed, core.PromptQueued, core.Phase, core.ThoughtStarted, core.ThoughtEnded, core.CallArgs, core.CallOutput,
		core.UsageChanged, core.TitleChanged, core.SettingsChanged, core.Bound, core.Flagged, core.Expanded, core.Compacted, core.Reverted, core.Cited, core.Moved, core.Unknown:
	}
}

func (t *transcript) prompt(who string, o core.Origin, blocks []core.Block, at time.Time) {
	if o.Client != "" {
		who += ", over " + oneLine(o.Client, 60)
	}
	t.block("## " + who + ", " + stamp(at))
	for _, b := range blocks {
		t.block(blockText(b))
	}
}

// call writes a call once, when it has ended.
func (t *transcript) call(c core.Call) {
	if !c.State.Ended() {
		return
	}
	t.block("- " + callLine(c))
	for _, b := range c.Content {
		text, more := firstLines(blockText(b), 20)
		if more > 0 {
			text += fmt.Sprintf("\n… %d more lines", more)
		}
		fmt.Fprintf(t.w, "\n%s\n", indented(fenced(text), "  "))
	}
}

// answered writes what a person said, where the call itself does not tell.
func (t *transcript) answered(e core.Answered) {
	if e.Reply.Outcome == core.OutcomeAnswered {
		t.block("**Answer:** " + printable(strings.TrimSpace(e.Reply.Option+" "+e.Reply.Text)))
	}
}

// callLine is a call on one line: how it went, what it is, and why.
func callLine(c core.Call) string {
	title := c.Title
	if title == "" {
		title = c.Tool
	}
	s := callMark(c.State) + " " + oneLine(title, 200)
	if c.Why != "" {
		s += " (" + oneLine(c.Why, 200) + ")"
	}
	return s
}

func callMark(s core.CallState) string {
	switch s {
	case core.Succeeded:
		return "✓"
	case core.Errored:
		return "✗ failed:"
	case core.Rejected:
		return "✗ rejected:"
	case core.Canceled:
		return "✗ cancelled:"
	case core.Proposed, core.Awaiting, core.Running:
		return "…"
	}
	return "…"
}

// endText says how a turn ended, where that needs saying.
func endText(e core.TurnEnded) string {
	switch e.Stop {
	case core.StopEnd:
		return ""
	case core.StopTokens:
		return "The answer stops here: the model may not say more at once."
	case core.StopRequests:
		return "The turn ended because it asked its model as often as it may."
	case core.StopRefusal:
		return "The model refused to answer."
	case core.StopCanceled:
		return "The turn was cancelled."
	case core.StopInterrupted:
		return "The turn was interrupted: the process that ran it ended."
	case core.StopError:
		return "The turn failed: " + e.Err
	}
	return "The turn ended: " + string(e.Stop)
}

func planText(entries []core.PlanEntry) string {
	var b strings.Builder
	b.WriteString("Plan:\n")
	for _, e := range entries {
		mark := " "
		switch e.Status {
		case core.PlanDone:
			mark = "x"
		case core.PlanActive:
			mark = "~"
		case core.PlanPending:
		}
		fmt.Fprintf(&b, "\n- [%s] %s", mark, oneLine(e.Text, 200))
	}
	return b.String()
}

// blockText is a piece of content in words.
func blockText(b core.Block) string {
	switch b := b.(type) {
	case core.Text:
		return printable(strings.TrimRight(b.Text, "\n"))
	case core.Image:
		return fmt.Sprintf("[picture, %s, %d bytes]", oneLine(b.MIME, 40), len(b.Data))
	case core.Audio:
		return fmt.Sprintf("[sound, %s, %d bytes]", oneLine(b.MIME, 40), len(b.Data))
	case core.Link:
		return "[" + oneLine(b.URI, 200) + "]"
	case core.Resource:
		return "[" + oneLine(b.URI, 200) + "]\n" + printable(b.Text)
	case core.Diff:
		return printable(b.Patch)
	case core.Terminal: // what it printed is in the call's result
	}
	return ""
}

// fenced puts a text between fences that it does not hold.
func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + s + "\n" + fence
}
