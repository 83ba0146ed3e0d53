package terminal

import (
	"fmt"
	"time"

	"dragoman/core"
	"dragoman/core/display"
)

const (
	// progressEvery is the time between two pictures of the sign of progress.
	progressEvery = 120 * time.Millisecond
	// The sign appears after quietFor. Where words say that something is awaited, they come after
	// wordsAfter at a terminal, and after wordsAfterPipe over a pipe.
	quietFor       = 300 * time.Millisecond
	wordsAfter     = time.Second
	wordsAfterPipe = 5 * time.Second
)

// progress shows that a turn runs while nothing else is shown: by a sign that moves, or, where
// that cannot be read, once in words.
type progress struct {
	phase core.Phase // of the turn; zero: it is being prepared
	since time.Time  // of what the turn is doing
	quiet time.Time  // when something was shown last
	frame int
	said  bool
}

// took notes records that were shown.
func (p *progress) took(recs []core.Record, now time.Time) {
	p.quiet = now
	for _, r := range recs {
		if e, ok := r.Event.(core.Phase); ok && (e.Kind != p.phase.Kind || e.Tool != p.phase.Tool) {
			p.phase, p.since, p.said = e, now, false
		}
	}
}

// doing returns what the turn is doing, in words; empty: it speaks.
func (c *chat) doing() string {
	p := c.progress.phase
	switch p.Kind {
	case core.PhaseStarting:
		return "Starting MCP servers: " + display.Line(p.Tool, 100)
	case core.PhaseWaiting, core.PhaseRetrying:
		return "Waiting for the model"
	case core.PhaseGenerating:
		return "The model is writing"
	case core.PhaseCalling:
		if p.Tool != "" {
			return "Running " + display.Line(p.Tool, 60)
		}
		return "Running tools"
	case core.PhaseCompacting:
		return "Summing up the conversation"
	}
	if c.options.Attach && !c.busy() { // a process tells no other in which phase its turn is
		return "The turn goes on"
	}
	return "Preparing the turn"
}

// showProgress shows a sign of the turn that runs.
func (c *chat) showProgress(now time.Time) {
	p := &c.progress
	words := wordsAfter
	if !c.tty {
		words = wordsAfterPipe
	}
	switch {
	case c.live && now.Sub(p.quiet) >= quietFor:
		text := c.doing()
		if took := now.Sub(p.since); took >= time.Second {
			text += fmt.Sprintf(" · %d s", int(took.Seconds()))
		}
		if c.busy() {
			text += " · Esc stops"
		}
		if ahead := c.in.line(); len(ahead.pieces) > 0 {
			text += " · typed ahead: " + display.Line(ahead.text(), 60)
		}
		p.frame++
		c.screen.busy(p.frame, text, c.in.columns())
	case !c.live && !p.said && !reported(p.phase.Kind) && now.Sub(p.quiet) >= words:
		p.said = true
		c.screen.aside(c.doing() + ".")
	default:
		return
	}
	_ = c.screen.flush() // the next flush reports an error
}

// reported reports whether a phase needs no words of its own: the answer comes, or the screen has
// a line for it.
func reported(k core.PhaseKind) bool {
	return k == core.PhaseGenerating || k == core.PhaseStarting || k == core.PhaseRetrying
}

// columns returns the width of the terminal.
func (in *input) columns() int {
	if in.term == nil {
		return 80
	}
	return in.term.columns()
}
