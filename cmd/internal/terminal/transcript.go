package terminal

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/notices"
)

// PrintTranscript writes a session as Markdown, in constant memory.
func PrintTranscript(ctx context.Context, out io.Writer, s *core.Session) error {
	att := s.Attach(core.Client{Name: "dragoman sessions show", Role: core.Observe})
	defer att.Close()
	st, head := att.State(), att.Head()
	t := NewTranscript(out)
	t.Title(st)
	r := att.Read(core.Pos{})
	defer r.Close()
	for r.Pos().Before(head) {
		recs, err := r.Next(ctx)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			t.Record(rec)
		}
	}
	if st.Turn != "" {
		t.block("")
		t.block("_A turn is running._")
	}
	return t.End()
}

// NewTranscript returns a transcript that is written to out.
func NewTranscript(out io.Writer) *Transcript { return &Transcript{w: bufio.NewWriter(out)} }

// Transcript writes a session for people, as Markdown: first Title, then Record for each of its
// records in order, then End.
type Transcript struct {
	w       *bufio.Writer
	speaker string // id of the message or thought that is being written
	whole   bool   // its last line has ended
}

// Title writes the heading and the facts about the whole session.
func (t *Transcript) Title(st core.State) {
	title := cmp.Or(st.Title, "Session without a title")
	fmt.Fprintf(t.w, "# %s\n\n", display.Line(title, 200))
	fmt.Fprintf(
		t.w,
		"- id: %s\n- folder: %s\n",
		display.Printable(string(st.Meta.ID)),
		display.Printable(st.Meta.Cwd),
	)
	fmt.Fprintf(t.w, "- started: %s, last used: %s\n", stamp(st.Meta.Created), stamp(st.Updated))
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
func (t *Transcript) block(s string) {
	if t.speaker != "" && !t.whole {
		t.w.WriteString("\n")
	}
	t.speaker = ""
	if s != "" {
		fmt.Fprintf(t.w, "\n%s\n", s)
	}
}

// stream writes a part of a text that belongs together.
func (t *Transcript) stream(id, head, text string) {
	if t.speaker != id {
		t.block("")
		t.w.WriteString("\n" + head)
		t.speaker = id
	}
	t.w.WriteString(display.Printable(text))
	t.whole = strings.HasSuffix(text, "\n")
}

// Record writes a record, if people read its kind.
func (t *Transcript) Record(r core.Record) {
	switch e := any(r.Event).(type) {
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
			t.block("**Question:** " + display.Printable(asked(e.Ask)))
		}
	case core.Answered:
		t.answered(e)
	case core.Notice:
		t.block("_" + string(e.Severity) + ": " + display.Line(e.Text, 500) + "_")
	case core.Missing:
		t.block("_" + display.Printable(e.Text) + "_")
	case core.TurnEnded:
		if text := endText(e); text != "" {
			t.block("_" + display.Printable(text) + "_")
		}
	default:
		if text := notices.Text(r.Event); text != "" {
			t.block("_" + display.Line(text, 500) + "_")
		}
	}
}

// End ends the last line, and returns the first error of writing.
func (t *Transcript) End() error {
	t.block("")
	return t.w.Flush()
}

func (t *Transcript) prompt(who string, o core.Origin, blocks []core.Block, at time.Time) {
	if o.Client != "" {
		who += ", over " + display.Line(o.Client, 60)
	}
	t.block("## " + who + ", " + stamp(at))
	for _, b := range blocks {
		t.block(blockText(b))
	}
}

// call writes a call once, when it has ended.
func (t *Transcript) call(c core.Call) {
	if !c.State.Ended() {
		return
	}
	t.block("- " + callLine(c))
	for _, b := range c.Content {
		text, more := display.FirstLines(blockText(b), 20)
		if more > 0 {
			text += fmt.Sprintf("\n… %d more lines", more)
		}
		fmt.Fprintf(t.w, "\n%s\n", display.Indented(display.Fenced("", text), "  "))
	}
}

// answered writes a person's answer, unless the call itself shows it.
func (t *Transcript) answered(e core.Answered) {
	if e.Reply.Outcome == core.OutcomeAnswered {
		t.block("**Answer:** " + display.Printable(strings.TrimSpace(e.Reply.Option+" "+e.Reply.Text)))
	}
}

// callLine returns a call on one line: its outcome, its title and the reason.
func callLine(c core.Call) string {
	title := cmp.Or(c.Title, c.Tool)
	s := callMark(c.State) + " " + display.Line(title, 200)
	if c.Why != "" {
		s += " (" + display.Line(c.Why, 200) + ")"
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

// endText returns a note on the end of a turn; "" for an ordinary end.
func endText(e core.TurnEnded) string {
	switch e.Stop {
	case core.StopEnd:
		return ""
	case core.StopTokens:
		return "The answer stops here: the model may not say more at once."
	case core.StopRequests:
		return "The turn ended because it asked its model as often as it may."
	case core.StopLimit:
		return "The turn ended: " + e.Err
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
		fmt.Fprintf(&b, "\n- [%s] %s", mark, display.Line(e.Text, 200))
	}
	return b.String()
}

// blockText returns a piece of content in words.
func blockText(b core.Block) string {
	switch b := b.(type) {
	case core.Text:
		return display.Printable(strings.TrimRight(b.Text, "\n"))
	case core.Image:
		return fmt.Sprintf("[picture, %s, %d bytes]", display.Line(b.MIME, 40), len(b.Data))
	case core.Audio:
		return fmt.Sprintf("[sound, %s, %d bytes]", display.Line(b.MIME, 40), len(b.Data))
	case core.Link:
		return "[" + display.Line(b.URI, 200) + "]"
	case core.Resource:
		return "[" + display.Line(b.URI, 200) + "]\n" + display.Printable(b.Text)
	case core.Diff:
		return display.Printable(b.Patch)
	case core.Terminal: // its output is in the call's result
	}
	return ""
}
