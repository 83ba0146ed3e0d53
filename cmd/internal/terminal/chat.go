package terminal

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal/history"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
)

// ChatOptions describe the person and the session.
type ChatOptions struct {
	Program   *program.Environment
	Gateway   *core.Gateway
	Principal core.Principal // of the person at the terminal
	Profiles  core.Profiles  // of the conversation; nil: the gateway's
	Session   *core.Session  // the first session
	Settings  core.Settings  // chosen for this chat; empty fields keep the session's values
	Profile   *core.Profile  // of the session's folders; not used with Attach
	History   *history.History
	Plain     bool // no cursor movement, and no sign that moves: for screen readers

	// Attach joins a session that others use: what is typed while a turn runs is sent at once, and
	// leaving stops nothing.
	Attach   bool
	ReadOnly bool // only watch: nothing is sent, and no question is answered
	// Hosts reports whether turns of a session run in this process, and end with it; nil: they do
	// not.
	Hosts func(core.SessionID) bool
	// Gone reports whether a session was deleted, which another process does not tell; nil: it
	// cannot be known.
	Gone func(context.Context, core.SessionID) bool
	// Present lists the other clients of the session, for people; nil: they are not known. It is
	// asked whenever something has come, and must not block.
	Present func(*core.Attachment) []string
	// Changes calls changed after the clients of a session have changed, until ctx ends; nil: nothing does.
	Changes func(ctx context.Context, changed func())
}

// Chat talks over standard input and output, which may be a terminal or pipes, until one side
// ends it. It returns program.ErrReported if a turn over a pipe has failed.
func Chat(ctx context.Context, o ChatOptions) error {
	in, out, err := wire.Stdio()
	if err != nil {
		return err
	}
	defer out.Close()
	interrupts := make(chan os.Signal, 1) // room for one is enough
	// Until the process ends: a user who presses the key once too often while the sessions are
	// stored must not lose them. Storing takes a bounded time.
	signal.Notify(interrupts, syscall.SIGINT)
	return converse(ctx, o, in, out, interrupts)
}

// converse is Chat over any input, which it closes, and any output.
func converse(ctx context.Context, o ChatOptions, in io.ReadCloser, out io.Writer, interrupts <-chan os.Signal) error {
	c := &chat{
		options: o, in: newInput(), tty: Is(o.Program.In), interrupts: interrupts, news: make(chan struct{}, 1),
		own: map[core.TurnID]context.CancelCauseFunc{}, waiting: map[core.TurnID]bool{},
	}
	if o.ReadOnly {
		c.tty = isScreen(o.Program.Out) // nobody types
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
	if !o.ReadOnly || term != nil { // who only watches reads no lines
		reading.Go(func() { c.in.read(in) })
	}
	watching, enough := context.WithCancel(ctx)
	if o.Changes != nil {
		reading.Go(func() { o.Changes(watching, func() { wake(c.news) }) })
	}
	err := c.talk(ctx)
	enough()
	if err == nil && c.failed && !c.tty {
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

// chat is a conversation in a terminal, or over a pipe. One goroutine carries it on (talk); others
// only read the input and wait for prompts to be stored.
type chat struct {
	options    ChatOptions
	session    *core.Session // the current one
	tty        bool
	in         *input
	interrupts <-chan os.Signal
	screen     *screen
	failed     bool    // a turn over a pipe has failed
	live       bool    // the cursor can be moved on the screen
	drawn      drawing // the line that is being typed
	below      bool    // that line is below one of the conversation that has not ended
	hidden     bool    // a secret is being typed
	fresh      bool    // the history was read
	unkept     bool    // it was said that prompts cannot be kept

	progress progress // of the running turn
	usage    core.Usage
	created  *core.Session // by clear, and the newest of them

	att    *core.Attachment
	reader *core.Reader
	news   chan struct{} // holds 1: the reader may have something
	looked time.Time     // when it was checked last that the session is there
	others []string      // the other clients that were shown; nil: none yet

	running core.TurnID // in the session; empty: no turn runs
	by      string      // the client that prompted it
	moved   core.Moved  // where it leads to

	// The turns that this chat has prompted and that have not ended, with functions that stop them,
	// and those of them that were queued.
	own     map[core.TurnID]context.CancelCauseFunc
	waiting map[core.TurnID]bool
	steers  []inputLine // sent to the running turn, and not taken up yet
	sending *sending    // nil: no prompt is on its way
	work    sync.WaitGroup
	stops   int // interrupts since the first of the own turns was prompted

	prompting bool       // the next line is a prompt
	question  *question  // the next line is the answer to it; nil: no question is put
	asks      []core.Ask // questions that wait for the line to be free
	aside     []core.Ask // questions that were left to others
	seen      core.AskID // the first of them is on the screen already
	noted     core.AskID // the one that was said to wait for the line
	mine      core.AskID // the one that this chat has settled last
	leaving   bool       // it leaves when the turns that run here have ended
}

var (
	// errLeft reports that the user has left.
	errLeft = errors.New("left")
	// errEnded reports that the input has ended.
	errEnded = errors.New("the input has ended")
	// errDeleted reports that the session is no longer there.
	errDeleted = errors.New("the session was deleted")
)

// talk carries on the conversation until the input ends, the user leaves or ctx ends.
func (c *chat) talk(ctx context.Context) (err error) {
	c.enter(c.options.Session)
	defer func() { // the ones open at the end
		c.work.Wait()
		for _, stop := range c.own {
			stop(errLeft) // stops nothing
		}
		c.reader.Close()
		c.att.Close()
		err = errors.Join(err, c.dropUnused(ctx))
	}()
	if err := c.settle(ctx); err != nil {
		return err
	}
	c.greet()
	if err := c.catchUp(ctx); err != nil {
		return err
	}
	for {
		err := c.step(ctx)
		switch {
		case errors.Is(err, errLeft):
			return c.leave()
		case err != nil && c.options.ReadOnly && wire.PeerLeft(err):
			return program.ExitError(program.ExitUnread)
		case err != nil:
			return err
		}
	}
}

// name returns the chat's name as a client.
func (c *chat) name() string {
	if c.options.Attach {
		return "dragoman attach"
	}
	return "dragoman chat"
}

// enter attaches to a session and begins to read it.
func (c *chat) enter(s *core.Session) {
	c.join(s)
	c.running = c.att.State().Turn
	from := c.att.Head()
	if c.tty || c.options.Attach && c.att.State().Turn != "" {
		from = core.Pos{} // see catchUp
	}
	c.watch(from)
}

// join attaches to a session.
func (c *chat) join(s *core.Session) {
	c.session = s
	client := core.Client{Name: c.name(), Visible: true, Principal: c.options.Principal, Profiles: c.options.Profiles, Asks: true, Questions: true}
	if c.options.ReadOnly {
		client.Role = core.Observe
	}
	c.att = s.Attach(client)
	c.running, c.by, c.asks, c.aside, c.others = "", "", nil, nil, nil
}

// watch reads the session from a position on.
func (c *chat) watch(from core.Pos) {
	c.reader = c.att.Watch(from, func(*core.Reader) { wake(c.news) })
}

// again enters the session once more after it was closed under this chat.
func (c *chat) again(ctx context.Context) error {
	at := c.reader.Pos()
	s, err := c.options.Gateway.Open(ctx, c.options.Principal, c.session.Meta().ID)
	if errors.Is(err, core.ErrNotFound) {
		return errDeleted
	} else if err != nil {
		return err
	}
	c.reader.Close()
	c.att.Close()
	c.join(s)
	c.watch(at)
	c.running = c.att.State().Turn
	return nil
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
	return c.catchUp(ctx)
}

// settle applies the choices of the flags to the session.
func (c *chat) settle(ctx context.Context) error {
	if c.options.Attach { // it has no such flags, and another process may own the session
		return nil
	}
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
	if c.options.Attach {
		c.greetAttached()
		return
	}
	st := c.att.State()
	model := inference.Next(c.options.Profile, st.Settings)
	offline := inference.ModelsOf(c.options.Profile).Info(model).Offline
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
	c.screen.clear()
	c.screen.start()
	if c.options.Attach {
		return c.leaveAttached()
	}
	if c.tty && c.session.State().Messages > 0 {
		c.screen.line(c.screen.Faint("continue with: dragoman chat --session " + string(c.session.Meta().ID)))
	}
	return c.screen.flush()
}
