package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"dragoman/adapters/wire"
	"dragoman/core"
)

func (a *app) chat() *cobra.Command {
	var resume string
	var set core.Settings
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to the agent in this terminal",
		Long: `Talk to the agent in this terminal, line by line, about the folder that you are in. Each
line is a prompt. When something needs your approval, answer y (yes, once), s (yes, for this
session) or n (no). Ctrl-C stops what runs; at the prompt it leaves, and so does Ctrl-D.
A line that begins with a slash may be a command: /model, /login, /fork, /resume, /compact,
/export, /doctor, /costs, and what the workspace and you add.

Standard input may be a pipe: each line is a prompt, the line behind a question is its
answer, and at the end of the input every answer is no.`,
		Example: `  dragoman chat
  dragoman chat --agent plan
  dragoman chat --session 7xk2
  echo 'read README.md' | dragoman chat`,
		Args: cobra.NoArgs,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			a.ownInterrupt = true
			return a.inHouse(ctx, func(ctx context.Context, h *house) error { return a.chatInHouse(ctx, h, resume, set) })
		}),
	}
	f := cmd.Flags()
	f.StringVar(&resume, "session", "", "go on with the session `ID`, which may be cut short (see dragoman sessions list)")
	f.StringVar(&set.Model, "model", "", "the model to use, as `PROVIDER/MODEL` (default: the configuration's)")
	f.StringVar(&set.Agent, "agent", "", "the `AGENT` to talk to: code, plan, or one of the configuration's (default: code)")
	return cmd
}

func (a *app) chatInHouse(ctx context.Context, h *house, resume string, set core.Settings) error {
	h.profiles.people = true
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	profile, err := h.profiles.in(ctx, []string{cwd})
	if err != nil {
		return fmt.Errorf("the configuration is wrong:\n%w", err)
	}
	if _, ok := profile.Agent(set.Agent); !ok {
		return fmt.Errorf("there is no agent %q; there are %s", set.Agent, agentNames(profile.Agents))
	}
	session, err := h.chatSession(ctx, resume, cwd)
	if err != nil {
		return err
	}
	in, out, err := wire.Stdio()
	if err != nil {
		return err
	}
	defer out.Close()
	c := &chat{
		gateway: h.gateway, session: session, profile: profile, set: set, tty: isTerminal(a.in), in: a.in, lines: make(chan string), over: make(chan struct{}),
		screen: &screen{w: bufio.NewWriter(out), palette: colours(a.out, a.env)},
	}
	// The reader ends with its input, which is closed behind the conversation.
	var reading sync.WaitGroup
	reading.Go(func() { c.readLines(in) })
	err = c.talk(ctx)
	close(c.over)
	in.Close() //nolint:errcheck // it only ends the reader
	reading.Wait()
	if resume == "" && session.State().Messages == 0 { // nobody will miss it
		err = errors.Join(err, h.gateway.Delete(context.WithoutCancel(ctx), core.Local, session.Meta().ID))
	}
	return err
}

func agentNames(agents []core.Agent) string {
	var names []string
	for _, a := range agents {
		names = append(names, a.Name)
	}
	return strings.Join(names, ", ")
}

// chatSession opens a session by its id, or makes one for the working folder.
func (h *house) chatSession(ctx context.Context, id, cwd string) (*core.Session, error) {
	if id != "" {
		return findSession(ctx, h.gateway, id)
	}
	return h.gateway.Create(ctx, core.Meta{Cwd: cwd})
}

// chat is a conversation in a terminal, or over a pipe.
type chat struct {
	gateway *core.Gateway
	session *core.Session
	profile *profile
	set     core.Settings
	tty     bool
	in      *os.File
	screen  *screen
	lines   chan string   // what the user types; closed at the end of the input
	over    chan struct{} // closed when nobody takes lines any more

	att    *core.Attachment
	reader *core.Reader
}

// readLines hands over the input, line by line. A line of more than 1 MiB ends it.
func (c *chat) readLines(in io.Reader) {
	defer close(c.lines)
	s := bufio.NewScanner(in)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		select {
		case c.lines <- s.Text():
		case <-c.over:
			return
		}
	}
}

// errLeft: the user does not want to go on.
var errLeft = errors.New("left")

// talk takes prompts until the input ends, the user leaves or ctx ends.
func (c *chat) talk(ctx context.Context) error {
	c.enter(c.session)
	defer func() { c.reader.Close(); c.att.Close() }() // those that are open by then
	if err := c.settle(ctx); err != nil {
		return err
	}
	interrupts := make(chan os.Signal, 1) // one is enough to know
	// Until the process ends: who presses the key once too often while the sessions
	// are stored must not lose them. That takes a bounded time.
	signal.Notify(interrupts, syscall.SIGINT)
	c.greet()
	for {
		c.ask("> ")
		select {
		case line, more := <-c.lines:
			if !more {
				return c.leave()
			}
			if strings.TrimSpace(line) == "" {
				continue
			}
			if err := c.turn(ctx, line, interrupts); errors.Is(err, errLeft) {
				return c.leave()
			} else if err != nil {
				return err
			}
		case <-interrupts:
			return c.leave()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// enter attaches to a session.
func (c *chat) enter(s *core.Session) {
	c.session = s
	c.att = s.Attach(core.Client{Name: "dragoman chat", Asks: true, Questions: true})
	c.reader = c.att.Read(c.att.Head())
}

// move goes on in another session.
func (c *chat) move(ctx context.Context, to core.Moved) error {
	s, err := c.gateway.Open(ctx, core.Local, to.To)
	if err != nil {
		c.screen.line(c.screen.bad("The session cannot be opened: " + oneLine(err.Error(), 1000)))
		return c.screen.flush()
	}
	c.reader.Close()
	c.att.Close()
	c.enter(s)
	c.screen.line(c.screen.faint("now in: " + oneLine(to.Title, 60) + " (" + string(to.To) + ")"))
	return c.screen.flush()
}

// settle makes the choices of the flags the session's.
func (c *chat) settle(ctx context.Context) error {
	set := c.att.State().Settings
	if c.set.Model != "" {
		set.Model = c.set.Model
	}
	if c.set.Agent != "" {
		set.Agent = c.set.Agent
	}
	return c.att.Set(ctx, set)
}

func (c *chat) greet() {
	if !c.tty {
		return
	}
	st := c.att.State()
	model := st.Settings.Model
	if model == "" {
		model = c.profile.DefaultModel
	}
	s := c.screen
	s.line(s.strong("dragoman") + " " + version + " · " + model + " · " + st.Meta.Cwd)
	if model == c.profile.DefaultModel && c.profile.choice.Offline() {
		s.line(s.faint("The offline demo is no language model: it follows plain instructions, such as: read README.md"))
	}
	s.line(s.faint("Ctrl-C stops what runs; at the prompt it leaves."))
	s.flush()
}

// ask shows a prompt to a person; over a pipe nobody would see it.
func (c *chat) ask(text string) {
	if c.tty {
		c.screen.start()
		c.screen.write(c.screen.strong(text))
		c.screen.prompted()
	}
	c.screen.flush()
}

// leave says goodbye.
func (c *chat) leave() error {
	c.screen.start()
	if c.tty && c.session.State().Messages > 0 {
		c.screen.line(c.screen.faint("go on with: dragoman chat --session " + string(c.session.Meta().ID)))
	}
	return c.screen.flush()
}

// turn prompts and shows what comes until the turn has ended. The first interrupt
// stops the turn, a second one everything.
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
		c.screen.line(c.screen.bad("The prompt was not taken: " + oneLine(err.Error(), 1000)))
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

// answer puts a question to the user and passes the answer on. When ctx ends
// first, or the question's time is over, the turn settles it by itself.
func (c *chat) answer(ctx context.Context, a core.Ask) error {
	pending := func(p core.Ask) bool { return p.ID == a.ID }
	if !slices.ContainsFunc(c.att.Pending(), pending) {
		return nil // settled while another was answered
	}
	c.screen.question(a)
	c.screen.flush()
	if a.Secret && c.tty {
		if restore, err := hideInput(c.in); err == nil {
			defer restore()
		}
	}
	deadline := time.NewTimer(time.Until(a.Deadline))
	defer deadline.Stop()
	for {
		c.ask(c.screen.choices(a))
		var line string
		more := true
		select {
		case line, more = <-c.lines:
		case <-deadline.C:
			return nil
		case <-ctx.Done():
			return nil
		}
		r, ok := reply(a, line, more)
		if !ok {
			c.screen.line("Please answer " + c.screen.choices(a))
			continue
		}
		if !c.tty {
			text := answerText(r)
			if a.Secret && r.Outcome == core.OutcomeAnswered {
				text = "a secret"
			}
			c.screen.line(c.screen.faint("answered: " + oneLine(text, 100)))
		}
		err := c.att.Answer(context.WithoutCancel(ctx), a.ID, r)
		if errors.Is(err, core.ErrNotAsked) { // settled meanwhile
			err = nil
		}
		return err
	}
}

// reply understands an answer; more is false at the end of the input.
func reply(a core.Ask, line string, more bool) (core.Reply, bool) {
	word := strings.ToLower(strings.TrimSpace(line))
	if a.Kind == core.AskQuestion {
		return answerTo(a, strings.TrimSpace(line), more)
	}
	decided := func(d core.Decision, note string) (core.Reply, bool) {
		return core.Reply{Outcome: core.OutcomeDecided, Decision: d, Text: note}, true
	}
	switch {
	case !more:
		return decided(core.RejectOnce, "the input ended before an answer came")
	case word == "y" || word == "yes":
		return decided(core.AllowOnce, "")
	case (word == "s" || word == "session") && a.Remember != "":
		return decided(core.AllowSession, "")
	case word == "n" || word == "no":
		return decided(core.RejectOnce, "")
	}
	return core.Reply{}, false
}

// answerTo understands the answer to a question: an option by its number or its
// words, or any text where that is allowed. An empty line declines.
func answerTo(a core.Ask, line string, more bool) (core.Reply, bool) {
	if !more || line == "" {
		return core.Reply{Outcome: core.OutcomeDeclined}, true
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(a.Options) {
		return core.Reply{Outcome: core.OutcomeAnswered, Option: a.Options[n-1].ID}, true
	}
	for _, o := range a.Options {
		if strings.EqualFold(o.Label, line) {
			return core.Reply{Outcome: core.OutcomeAnswered, Option: o.ID}, true
		}
	}
	if a.Freeform || len(a.Options) == 0 {
		return core.Reply{Outcome: core.OutcomeAnswered, Text: line}, true
	}
	return core.Reply{}, false
}

// answerText is an answer in words.
func answerText(r core.Reply) string {
	switch r.Outcome {
	case core.OutcomeAnswered:
		return r.Option + r.Text
	case core.OutcomeDecided:
		switch r.Decision {
		case core.AllowOnce:
			return "yes"
		case core.AllowSession:
			return "yes, for this session"
		case core.RejectOnce, core.RejectAlways:
			return strings.TrimSuffix("no: "+r.Text, ": ")
		}
	case core.OutcomeDeclined, core.OutcomeExpired, core.OutcomeAlone, core.OutcomeCanceled:
	}
	return "nothing"
}
