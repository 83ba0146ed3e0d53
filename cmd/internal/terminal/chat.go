package terminal

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal/history"
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
	Profile   *core.Profile  // of the session's folders
	Model     string         // the model of a session that has chosen none
	Offline   bool           // that is the offline demo
	History   *history.History
	Plain     bool // no cursor movement, and no sign that moves: for screen readers
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
	}
	smart := o.Program.Getenv("TERM") != "dumb"
	term, keys, leave := openTerminal(in, smart, func() { wake(c.in.came) }, c.in.resumed)
	defer leave() // also after a panic
	c.in.term, c.in.keys = term, keys
	c.live = smart && !o.Plain && c.echoes() && isScreen(o.Program.Out)
	c.screen = c.newScreen(bufio.NewWriter(out))
	if !c.tty {
		c.screen.errs = o.Program.Err
	}
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

// newScreen returns a screen that looks like the chat's.
func (c *chat) newScreen(w *bufio.Writer) *screen {
	s := &screen{w: w, Palette: Colours(c.options.Program.Out, c.options.Program.Lookup)}
	if c.live {
		s.columns = c.in.columns
	} else if c.options.Plain {
		s.Palette = Palette{}
	}
	return s
}

// chat is a conversation in a terminal, or over a pipe.
type chat struct {
	options ChatOptions
	session *core.Session // the current one
	tty     bool
	in      *input
	screen  *screen
	failed  bool    // a turn over a pipe has failed
	live    bool    // the cursor can be moved on the screen
	drawn   drawing // the line that is being typed
	hidden  bool    // a secret is being typed
	fresh   bool    // the history was read
	unkept  bool    // it was said that prompts cannot be kept

	progress progress // of the running turn
	usage    core.Usage
	created  *core.Session // by clear, and the newest of them

	att    *core.Attachment
	reader *core.Reader
}

// errLeft reports that the user has left.
var errLeft = errors.New("left")

// talk reads prompts until the input ends, the user leaves or ctx ends.
func (c *chat) talk(ctx context.Context) (err error) {
	c.enter(c.options.Session)
	defer func() { // the ones open at the end
		c.reader.Close()
		c.att.Close()
		err = errors.Join(err, c.dropUnused(ctx))
	}()
	if err := c.settle(ctx); err != nil {
		return err
	}
	interrupts := make(chan os.Signal, 1) // room for one is enough
	// Until the process ends: a user who presses the key once too often while the sessions are
	// stored must not lose them. Storing takes a bounded time.
	signal.Notify(interrupts, syscall.SIGINT)
	c.greet()
	if err := c.showEarlier(ctx); err != nil {
		return err
	}
	for {
		line, err := c.prompt(ctx, interrupts)
		if err == nil {
			err = c.act(ctx, line, interrupts)
		}
		if errors.Is(err, errLeft) {
			return c.leave()
		} else if err != nil {
			return err
		}
	}
}

// act carries out a command of the chat's, or has the agent answer a prompt.
func (c *chat) act(ctx context.Context, line inputLine, interrupts <-chan os.Signal) error {
	if cmd, args, ok := local(line.text()); ok {
		return cmd.run(c, ctx, args)
	}
	return c.turn(ctx, line, interrupts)
}

// enter attaches to a session.
func (c *chat) enter(s *core.Session) {
	c.session = s
	c.att = s.Attach(core.Client{Name: "dragoman chat", Visible: true, Principal: c.options.Principal, Profiles: c.options.Profiles, Asks: true, Questions: true})
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
	return c.showEarlier(ctx)
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
	offline := model == c.options.Model && c.options.Offline
	if a, ok := c.options.Profile.Agent(st.Settings.Agent); ok && a.External { // it has models of its own
		model, offline = "agent "+a.Name, false
	}
	s := c.screen
	s.line(s.Strong("dragoman") + " " + c.options.Program.Version + " · " + model + " · " + st.Meta.Cwd)
	if offline {
		s.line(
			s.Faint("The offline demo is not a language model: it follows plain instructions, such as: read README.md"),
		)
	}
	if c.echoes() {
		s.line(s.Faint("/help lists the commands and keys. Esc stops what runs, Ctrl-C too; at the prompt Ctrl-C leaves."))
	} else {
		s.line(s.Faint("/help lists the commands. Ctrl-C stops what runs; at the prompt it leaves. This terminal passes on whole lines " +
			"only: Tab, Esc and the history of prompts do not work here, and each line of a paste is a prompt."))
	}
	s.flush()
}

// leave says goodbye.
func (c *chat) leave() error {
	c.screen.start()
	if c.tty && c.session.State().Messages > 0 {
		c.screen.line(c.screen.Faint("continue with: dragoman chat --session " + string(c.session.Meta().ID)))
	}
	return c.screen.flush()
}
