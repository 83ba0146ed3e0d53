package terminal

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"dragoman/cmd/internal/terminal/columns"
	"dragoman/cmd/internal/terminal/markdown"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/notices"
)

// screen shows a conversation as it happens, line by line, on any output for text.
type screen struct {
	Palette
	w    *bufio.Writer
	errs io.Writer // for failures; nil: the screen
	mid  bool      // the cursor is after text on its line
	in   string    // the id of the message, thought or call that is being streamed

	columns func() int // of the terminal; nil: lines are not broken, and nothing is drawn twice
	body    body       // shows the text that is being streamed; nil: it is written as it is
	held    string     // the end of that text: more of the same picture may come
	waits   bool       // the sign of progress is on the line
	tail    string     // written since the last end of a line
	lift    func()     // takes the line that is being typed off the screen; nil: it is not there

	shown core.CallID // the call that was shown last
	me    string      // the client whose earlier prompts need no name; empty: none needs one
}

// write writes a part of the conversation. The line that is being typed makes room for it.
func (s *screen) write(text string) {
	if text == "" {
		return
	}
	s.clear()
	s.put(text)
	s.mid = !strings.HasSuffix(text, "\n")
	s.tail += text
	if i := strings.LastIndexByte(s.tail, '\n'); i >= 0 {
		s.tail = s.tail[i+1:]
	}
}

// clear takes the line that is being typed off the screen.
func (s *screen) clear() {
	if lift := s.lift; lift != nil {
		s.lift = nil
		lift()
	}
}

// put writes what is no part of the conversation, at the cursor.
func (s *screen) put(text string) {
	if s.waits {
		s.waits = false
		s.w.WriteString("\r\x1b[2K")
	}
	s.w.WriteString(text)
}

// lost notes that the cursor is at the beginning of an empty line, whatever was on the screen.
func (s *screen) lost() { s.mid, s.tail, s.lift, s.waits = false, "", nil, false }

// start goes to the beginning of a line.
func (s *screen) start() {
	if s.body != nil {
		s.body.Write(display.Printable(s.held))
		s.body.End()
		s.body, s.held = nil, ""
	}
	if s.mid {
		s.write("\n")
	}
	s.in = ""
}

func (s *screen) line(text string) {
	s.start()
	if s.columns != nil {
		text = columns.Wrap(text, s.columns())
	}
	s.write(text + "\n")
}

// failure shows an error.
func (s *screen) failure(text string) {
	if s.errs == nil {
		s.line(s.Bad(text))
		return
	}
	s.start()
	_ = s.flush() // keeps the order if both go to one place; the next flush reports an error
	fmt.Fprintln(s.errs, "dragoman: "+text)
}

func (s *screen) flush() error { return s.w.Flush() }

// body shows a text while it comes.
type body interface {
	Write(text string)
	End()
}

// flow is a body without marks.
type flow struct {
	columns.Flow
	code string
}

func (f *flow) Write(text string) {
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			f.Newline()
		}
		f.Text(f.code, line)
	}
}

// stream writes a part of a text that belongs together. faint is for thoughts.
func (s *screen) stream(id, head, text string, faint bool) {
	if s.in != id {
		s.start()
		s.in = id
		switch {
		case s.columns == nil:
			s.write(head)
		case s.on && !faint:
			s.body = markdown.New(s.write, s.columns)
		case s.on:
			s.body = &flow{columns.Flow{Out: s.write, Columns: s.columns}, "2"}
		default:
			s.body = &flow{columns.Flow{Out: s.write, Columns: s.columns}, ""}
		}
		if s.body != nil && head != "" {
			s.body.Write(head)
		}
	}
	switch {
	case s.body != nil:
		text = s.held + text
		s.held = columns.Last(text)
		s.body.Write(display.Printable(strings.TrimSuffix(text, s.held)))
	case faint:
		s.write(s.Faint(display.Printable(text)))
	default:
		s.write(display.Printable(text))
	}
}

// busy shows a sign of progress and a text on the current line, if it is empty.
func (s *screen) busy(frame int, text string, width int) {
	if s.mid || s.lift != nil {
		return
	}
	text = signOf(frame) + " " + text
	for columns.Width(text) >= width {
		text = display.Cut(text, len(text)-1)
	}
	s.w.WriteString("\r\x1b[2K" + s.Faint(text))
	s.waits = true
}

// signOf returns a picture of the sign that moves.
func signOf(frame int) string {
	signs := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return string(signs[frame%len(signs)])
}

// aside shows a line that is no part of the conversation.
func (s *screen) aside(text string) {
	if s.errs == nil {
		s.line(s.Faint(text))
		return
	}
	_ = s.flush() // as in failure
	fmt.Fprintln(s.errs, "dragoman: "+text)
}

// record shows a record.
func (s *screen) record(r core.Record) {
	switch e := any(r.Event).(type) {
	case core.TextDelta:
		s.stream("m"+string(e.Message), "", e.Text, false)
	case core.ThoughtDelta:
		s.stream("t"+string(e.Thought), "thinking: ", e.Text, true)
	case core.CallChanged:
		s.call(e.Call)
	case core.CallOutput:
		s.output(e)
	case core.PlanChanged:
		s.line(planText(e.Entries))
	case core.Notice:
		s.line(s.Warm(string(e.Severity) + ": " + display.Line(e.Text, 1000)))
	case core.Missing:
		s.line(s.Warm(display.Printable(e.Text)))
	case core.Phase:
		switch {
		case e.Kind == core.PhaseRetrying && e.After > 0:
			s.line(s.Faint(retryText(e)))
		case e.Kind == core.PhaseStarting && s.columns == nil: // elsewhere the sign of progress says it
			s.line(s.Faint("starting MCP servers: " + display.Line(e.Tool, 200)))
		}
	case core.TurnEnded:
		s.start()
		if text := endText(e); e.Stop == core.StopError {
			s.failure(display.Printable(text))
		} else if text != "" {
			s.line(s.Warm(display.Printable(text)))
		}
	default:
		if text := notices.Text(r.Event); text != "" {
			s.line(s.Warm(display.Line(text, 1000)))
		}
	}
}

// retryText returns the line about a model's service that is asked again later.
func retryText(p core.Phase) string {
	return "waiting for the model's service; next try in " + notices.Pause(p)
}

// call shows a call when it is put to the user or begins, and its error when it fails. Its
// result is for the agent.
func (s *screen) call(c core.Call) {
	switch c.State {
	case core.Awaiting:
		s.line(s.Strong("? "+callTitle(c)) + s.Faint(" · "+display.Line(c.Why, 200)))
		for _, b := range c.Content {
			s.excerpt(blockText(b), 40)
		}
		s.shown = c.ID
	case core.Running:
		if s.shown != c.ID {
			s.line(s.Cool("→ " + callTitle(c)))
			s.shown = c.ID
		}
	case core.Succeeded:
		s.start()
	case core.Errored:
		s.line(s.Bad("✗ " + callTitle(c)))
		for _, b := range c.Content {
			if t, ok := b.(core.Text); ok {
				s.excerpt(display.Printable(t.Text), 6)
			}
		}
	case core.Rejected, core.Canceled:
		s.line(s.Bad(callLine(c)))
	case core.Proposed:
	}
}

// excerpt shows the first lines of a text, set off.
func (s *screen) excerpt(text string, lines int) {
	text, more := display.FirstLines(text, lines)
	if more > 0 {
		text += fmt.Sprintf("\n… %d more lines", more)
	}
	s.start()
	s.write(s.Faint(display.Indented(text, "  │ ")) + "\n")
}

// output shows the output of a command, each line with a mark.
func (s *screen) output(e core.CallOutput) {
	if id := "o" + string(e.Call); s.in != id {
		s.start()
		s.in = id
	}
	for part := range strings.SplitAfterSeq(display.Printable(e.Text), "\n") {
		if part == "" {
			continue
		}
		if !s.mid {
			s.write(s.Faint("  │ "))
		}
		s.write(s.Faint(strings.TrimSuffix(part, "\n")))
		if strings.HasSuffix(part, "\n") {
			s.write("\n")
		}
	}
}

func callTitle(c core.Call) string {
	if c.Title != "" { // its author has limited it and marked the cut
		return display.Line(c.Title, 1000)
	}
	return display.Line(c.Tool, 200)
}

// question shows a question or an approval to the user.
func (s *screen) question(a core.Ask) {
	if a.Kind == core.AskApproval {
		return
	}
	s.line(s.Strong("? ") + display.Printable(asked(a)))
	for i, o := range a.Options {
		s.line(fmt.Sprintf("  %d. %s", i+1, display.Line(strings.TrimSuffix(o.Label+": "+o.Description, ": "), 200)))
	}
}

// asked returns a question with the page to open.
func asked(a core.Ask) string {
	return strings.TrimSpace(a.Text + "\n" + a.URL)
}

// choices lists the possible answers.
func (s *screen) choices(a core.Ask) string {
	switch {
	case a.Kind == core.AskApproval && a.Always:
		return "[y]es, [s]ession or [a]lways in this folder (" + display.Line(a.Remember, 80) + "), or [n]o: "
	case a.Kind == core.AskApproval && a.Remember != "":
		return "[y]es, [s]ession (" + display.Line(a.Remember, 80) + ") or [n]o: "
	case a.Kind == core.AskApproval:
		return "[y]es or [n]o: "
	case len(a.Options) == 0:
		return "your answer: "
	case a.Freeform:
		return "a number, or your answer: "
	}
	return "a number: "
}
