package terminal

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
	"dragoman/core"
	"dragoman/core/codec"
	"dragoman/core/display"
	"dragoman/core/notices"
)

// runOutput prints a turn: the answer, or all events, to standard output, and everything that a
// person may want to know besides to standard error, one line each.
type runOutput struct {
	Palette
	out  *bufio.Writer
	errs io.Writer
	json *codec.Encoder // nil: the answer is printed
	line []byte         // for the next event

	screen  bool           // standard output is a terminal
	both    bool           // standard error is one, too
	message core.MessageID // of the answer's last text
	mid     bool           // the answer's last line has not ended
	shown   core.CallID    // the call that was shown last
	usage   core.Usage     // of the turn
	moved   core.SessionID // the session to continue in; empty: the same
}

func newRunOutput(env *program.Environment, json bool) *runOutput {
	o := &runOutput{
		Palette: Colours(env.Err, env.Lookup), out: bufio.NewWriter(env.Out), errs: env.Err,
		screen: isScreen(env.Out),
	}
	o.both = o.screen && isScreen(env.Err)
	if json {
		o.json = &codec.Encoder{}
	}
	return o
}

// isScreen reports whether an output is a terminal.
func isScreen(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && Is(f)
}

func (o *runOutput) flush() error { return o.out.Flush() }

// record prints a record.
func (o *runOutput) record(r core.Record) {
	if o.json != nil && r.Seq > 0 { // live events are not stored
		o.line = append(o.json.Append(o.line[:0], r), '\n')
		o.out.Write(o.line) //nolint:errcheck // flush returns the error
	}
	switch e := any(r.Event).(type) {
	case core.TextDelta:
		o.answer(e)
	case core.CallChanged:
		o.call(e.Call)
	case core.Asked:
		o.asked(e.Ask)
	case core.Notice:
		o.note(o.Warm(string(e.Severity) + ": " + display.Line(e.Text, 1000)))
	case core.Phase:
		switch {
		case e.Kind == core.PhaseRetrying && e.After > 0:
			o.note(o.Faint(retryText(e)))
		case e.Kind == core.PhaseStarting:
			o.note(o.Faint("Waiting for MCP servers to start: " + display.Line(e.Tool, 300)))
		}
	case core.PromptQueued:
		o.note(o.Faint("Waiting until the turn of another client in this session has ended."))
	case core.Moved:
		o.moved = e.To
	case core.UsageChanged:
		o.usage = o.usage.Add(e.Last)
	case core.TurnEnded:
		o.end(e)
	default:
		if text := notices.Text(r.Event); text != "" {
			o.note(o.Warm(display.Line(text, 1000)))
		}
	}
}

// answer prints a part of the answer: as the model wrote it, unless it goes to a terminal.
func (o *runOutput) answer(e core.TextDelta) {
	if o.json != nil || e.Text == "" {
		return
	}
	if o.mid && e.Message != o.message {
		o.out.WriteByte('\n') //nolint:errcheck // flush returns the error
	}
	text := e.Text
	if o.screen {
		text = display.Printable(text)
	}
	o.out.WriteString(text) //nolint:errcheck // as above
	o.message, o.mid = e.Message, !strings.HasSuffix(text, "\n")
}

// note prints a line to standard error, below the answer so far. If nobody reads the answer any
// more, it does nothing.
func (o *runOutput) note(line string) {
	if err := o.flush(); err != nil && wire.PeerLeft(err) { // the next flush returns it, too
		return
	}
	if o.mid && o.both {
		line, o.mid = "\n"+line, false
	}
	fmt.Fprintln(o.errs, line)
}

// call prints a call when it begins, and when it ends without success.
func (o *runOutput) call(c core.Call) {
	switch c.State {
	case core.Running:
		if o.shown != c.ID {
			o.note(o.Cool("→ " + callTitle(c)))
			o.shown = c.ID
		}
	case core.Errored, core.Rejected, core.Canceled:
		o.note(o.Bad(callLine(c)))
	case core.Proposed, core.Awaiting, core.Succeeded:
	}
}

// asked prints a question that nobody can be asked. The session's own calls show it themselves.
func (o *runOutput) asked(a core.Ask) {
	switch {
	case a.About != nil:
		o.note(o.Bad("✗ rejected: " + callTitle(*a.About) + " (" + display.Line(a.Text, 200) + ")"))
	case a.Kind != core.AskApproval:
		o.note(o.Bad("✗ nobody can be asked: " + display.Line(asked(a), 1000)))
	}
}

// end prints the end of the turn, unless it is an ordinary one.
func (o *runOutput) end(e core.TurnEnded) {
	if o.json == nil && o.mid {
		o.out.WriteByte('\n') //nolint:errcheck // flush returns the error
		o.mid = false
	}
	text := display.Printable(endText(e))
	switch {
	case text == "":
	case e.Stop == core.StopError:
		o.note("dragoman: " + text)
	default:
		o.note(o.Warm(text))
	}
}

// close prints what remains to be said about the session.
func (o *runOutput) close(st core.State, refused []core.Ask) {
	if len(refused) > 0 {
		o.note(o.Warm(refusedText(refused)))
	}
	if o.usage != (core.Usage{}) {
		o.note(o.Faint(usageText(o.usage)))
	}
	o.note(o.Faint("continue with: dragoman chat --session " + string(cmp.Or(o.moved, st.Meta.ID))))
}

// refusedText returns advice after questions that nobody could be asked.
func refusedText(refused []core.Ask) string {
	text := "Nobody could be asked, so the answer to " + display.Counted(len(refused), "question") + " was no. "
	for _, a := range refused {
		if a.Kind == core.AskApproval && !a.Hard {
			return text + "--allow TOOL[:PATTERN], or a rule of policy.allow in the configuration, allows such calls."
		}
	}
	return text + "Only a person can give another one, in dragoman chat."
}

// usageText returns the tokens and the price of a turn.
func usageText(u core.Usage) string {
	about := ""
	if u.Estimated {
		about = "about "
	}
	text := "tokens: " + about + display.Number(u.In) + " sent, " + about + display.Number(u.Out) + " received"
	if u.Cost != nil {
		text += ", " + about + display.Dollars(*u.Cost)
	}
	return text
}
