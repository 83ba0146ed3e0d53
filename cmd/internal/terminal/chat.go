package terminal

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
	"dragoman/core"
	"dragoman/core/display"
)

// ChatOptions describe the person and the session.
type ChatOptions struct {
	Program   *program.Environment
	Gateway   *core.Gateway
	Principal core.Principal // of the person at the terminal
	Profiles  core.Profiles  // of the conversation; nil: the gateway's
	Session   *core.Session  // the first session
	Settings  core.Settings  // chosen for this chat; empty fields keep the session's values
	Model     string         // the model of a session that has chosen none
	Offline   bool           // that is the offline demo
}

// Chat talks over standard input and output, which may be a terminal or pipes, until one side
// ends it. It returns program.ErrReported if a turn over a pipe has failed.
func Chat(ctx context.Context, o ChatOptions) error {
	in, out, err := wire.Stdio()
	if err != nil {
		return err
	}
	defer out.Close()
	c := &chat{
		options: o, in: newInput(), tty: Is(o.Program.In),
		screen: &screen{w: bufio.NewWriter(out), Palette: Colours(o.Program.Out, o.Program.Lookup)},
	}
	if !c.tty {
		c.screen.errs = o.Program.Err
	}
	term, keys, leave := openTerminal(in, o.Program.Getenv("TERM") != "dumb")
	defer leave() // also after a panic
	c.in.term, c.in.keys = term, keys
	// The reader ends with its input, which is closed after the conversation.
	var reading sync.WaitGroup
	reading.Go(func() { c.in.read(in) })
	if err = c.talk(ctx); err == nil && c.failed && !c.tty {
		err = program.ErrReported // the error was shown
	}
	close(c.in.over)
	leave()
	in.Close() //nolint:errcheck // this only ends the reader
	reading.Wait()
	return err
}

// chat is a conversation in a terminal, or over a pipe.
type chat struct {
	options ChatOptions
	session *core.Session // the current one
	tty     bool
	in      *input
	screen  *screen
	failed  bool    // a turn over a pipe has failed
	drawn   []piece // the visible part of the line that is being typed
	hidden  bool    // a secret is being typed

	att    *core.Attachment
	reader *core.Reader
}

// errLeft reports that the user has left.
var errLeft = errors.New("left")

// talk reads prompts until the input ends, the user leaves or ctx ends.
func (c *chat) talk(ctx context.Context) error {
	c.enter(c.options.Session)
	defer func() { c.reader.Close(); c.att.Close() }() // the ones open at the end
	if err := c.settle(ctx); err != nil {
		return err
	}
	interrupts := make(chan os.Signal, 1) // room for one is enough
	// Until the process ends: a user who presses the key once too often while the sessions are
	// stored must not lose them. Storing takes a bounded time.
	signal.Notify(interrupts, syscall.SIGINT)
	c.greet()
	for {
		line, err := c.prompt(ctx, interrupts)
		if err == nil {
			err = c.turn(ctx, line, interrupts)
		}
		if errors.Is(err, errLeft) {
			return c.leave()
		} else if err != nil {
			return err
		}
	}
}

// prompt waits for the user's next prompt.
func (c *chat) prompt(ctx context.Context, interrupts <-chan os.Signal) (string, error) {
	if lost := c.in.lost(); len(lost) > 0 {
		c.screen.line(c.screen.Warm("Typed before the turn was stopped, and not sent: " + heads(lost)))
	}
	c.in.resume()
	for {
		c.ask("> ")
		line, err := c.line(ctx, "> ", 0, interrupts)
		if err != nil {
			return "", err
		}
		if line.cut {
			c.screen.line(c.screen.Warm("The line is longer than 1 MiB and was not sent."))
		} else if text := line.text(); strings.TrimSpace(text) != "" {
			return strings.TrimRight(text, "\n"), nil
		}
	}
}

// line waits for a line of a generation (0: any), after a label on the screen, and shows it as it
// is typed. It returns errLeft when the input has ended or the user wants to leave.
func (c *chat) line(
	ctx context.Context,
	label string,
	gen int,
	interrupts <-chan os.Signal,
) (inputLine, error) {
	for {
		ended := c.in.end() // checked first: a line may come with the end
		line, ok := c.in.take(gen)
		switch {
		case ok:
			c.draw(label, line.pieces)
			if c.echoes() {
				c.screen.write("\n")
			}
			return line, c.screen.flush()
		case ended:
			return inputLine{}, errLeft
		}
		c.draw(label, c.in.line())
		if err := c.screen.flush(); err != nil {
			return inputLine{}, err
		}
		select {
		case <-c.in.came:
		case <-interrupts:
			return inputLine{}, errLeft
		case <-ctx.Done():
			return inputLine{}, context.Cause(ctx)
		}
	}
}

// enter attaches to a session.
func (c *chat) enter(s *core.Session) {
	c.session = s
	c.att = s.Attach(core.Client{Name: "dragoman chat", Principal: c.options.Principal, Profiles: c.options.Profiles, Asks: true, Questions: true})
	c.reader = c.att.Read(c.att.Head())
}

// move continues in another session.
func (c *chat) move(ctx context.Context, to core.Moved) error {
	s, err := c.options.Gateway.Open(ctx, c.options.Principal, to.To)
	if err != nil {
		c.screen.line(c.screen.Bad("The session cannot be opened: " + display.Line(err.Error(), 1000)))
		return c.screen.flush()
	}
	c.reader.Close()
	c.att.Close()
	c.enter(s)
	c.screen.line(c.screen.Faint("now in: " + display.Line(to.Title, 60) + " (" + string(to.To) + ")"))
	return c.screen.flush()
}

// settle applies the choices of the flags to the session.
func (c *chat) settle(ctx context.Context) error {
	set := c.att.State().Settings
	if c.options.Settings.Model != "" {
		set.Model = c.options.Settings.Model
	}
	if c.options.Settings.Agent != "" {
		set.Agent = c.options.Settings.Agent
	}
	return c.att.Set(ctx, set)
}

func (c *chat) greet() {
	if !c.tty {
		return
	}
	st := c.att.State()
	model := cmp.Or(st.Settings.Model, c.options.Model)
	s := c.screen
	s.line(s.Strong("dragoman") + " " + c.options.Program.Version + " · " + model + " · " + st.Meta.Cwd)
	if model == c.options.Model && c.options.Offline {
		s.line(
			s.Faint("The offline demo is not a language model: it follows plain instructions, such as: read README.md"),
		)
	}
	s.line(s.Faint("Ctrl-C stops what runs; at the prompt it leaves."))
	s.flush()
}

// ask shows a prompt to a person; over a pipe it does nothing.
func (c *chat) ask(text string) {
	if c.tty {
		c.screen.start()
		c.screen.write(c.screen.Strong(text))
		if !c.echoes() {
			c.screen.prompted()
		}
		c.drawn = nil
	}
	c.screen.flush()
}

// echoes reports whether we have to show the typed text.
func (c *chat) echoes() bool { return c.in.term != nil && c.in.term.echo }

// draw shows the typed part of a line. If it cannot erase the old text it writes the line again
// below.
// again below.
func (c *chat) draw(label string, now []piece) {
	if !c.echoes() || c.hidden {
		return
	}
	same := 0
	for same < min(len(now), len(c.drawn)) && now[same] == c.drawn[same] {
		same++
	}
	width := len(label)
	for _, p := range c.drawn {
		width += 2 * utf8.RuneCountInString(p.shown) // at most
	}
	gone := shownText(c.drawn[same:])
	if plain := strings.IndexFunc(gone, func(r rune) bool { return r >= utf8.RuneSelf }) < 0; plain &&
		width < c.in.term.columns() {
		c.screen.write(strings.Repeat("\b \b", len(gone)))
	} else if gone != "" {
		c.screen.write("\n" + c.screen.Strong(label))
		same = 0
	}
	c.screen.write(shownText(now[same:]))
	c.drawn = slices.Clone(now)
}

func shownText(pieces []piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.shown)
	}
	return b.String()
}

// leave says goodbye.
func (c *chat) leave() error {
	c.screen.start()
	if c.tty && c.session.State().Messages > 0 {
		c.screen.line(c.screen.Faint("continue with: dragoman chat --session " + string(c.session.Meta().ID)))
	}
	return c.screen.flush()
}

// turn prompts and shows the events until the turn has ended. The first interrupt stops the
// turn, a second one the chat.
func (c *chat) turn(ctx context.Context, line string, interrupts <-chan os.Signal) error {
	ctx, end := context.WithCancelCause(ctx)
	prompted, stop := context.WithCancelCause(ctx)
	over := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-interrupts:
				if n > 0 {
					end(errLeft)
					return
				}
				c.in.forget()
				stop(core.ErrCanceled)
			case <-over:
				return
			}
		}
	})
	defer func() {
		close(over)
		listening.Wait()
		end(nil)
	}()
	id, err := c.att.Prompt(prompted, core.Prompt{Blocks: []core.Block{core.Text{Text: line}}})
	if err != nil {
		c.failed = true
		c.screen.failure("The prompt was not taken: " + display.Line(err.Error(), 1000))
		return c.screen.flush()
	}
	var moved core.Moved
	for {
		recs, err := c.reader.Next(ctx)
		if err != nil {
			return err
		}
		var asks []core.Ask
		for _, r := range recs {
			c.screen.record(r)
			if e, ok := r.Event.(core.Asked); ok {
				asks = append(asks, e.Ask)
			}
			if e, ok := r.Event.(core.Moved); ok {
				moved = e
			}
			if e, ok := r.Event.(core.TurnEnded); ok && e.Turn == id {
				c.failed = c.failed || e.Stop == core.StopError
				if err := c.screen.flush(); err != nil || moved.To == "" {
					return err
				}
				return c.move(ctx, moved)
			}
		}
		if err := c.screen.flush(); err != nil {
			return err
		}
		for _, a := range asks {
			if err := c.answer(prompted, a); err != nil {
				return err
			}
		}
	}
}
