package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/agent/signin"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/display"
)

// SignIn is a way to sign in to an agent.
type SignIn = signin.Method

// signIns returns the ways that an agent has listed. The program that it names for editors in its
// _meta is not one.
func (h hello) signIns() (list []SignIn) {
	for _, m := range h.AuthMethods {
		if m.ID == "" {
			continue
		}
		s := SignIn{ID: m.ID, Name: m.Name, Description: m.Description, Terminal: m.Type == acp.AuthTerminal, Args: m.Args, Env: m.Env}
		for _, v := range m.Vars {
			s.Vars = append(s.Vars, v.Name)
		}
		list = append(list, s)
	}
	return list
}

// SignIns lists the ways to sign in that the agent's newest program has listed, in this process or
// an earlier one; known is false if it has never run. wanted says that its last answer was that it
// wants a login. It may read a file.
func (b *Backend) SignIns() (list []SignIn, wanted, known bool) {
	note, known := b.o.Notes.Of(b.o.Name)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !known { // another process would have noted a later login
		note.Wanted = b.wants
	}
	if b.last != nil {
		return b.last.signIns(), note.Wanted, true
	}
	return note.SignIns, note.Wanted, known
}

// AskSignIns is SignIns, and starts the agent if it does not run.
func (b *Backend) AskSignIns(ctx context.Context) (list []SignIn, err error) {
	err = b.with(ctx, nil, func(p *peer) error {
		list = p.hello.signIns()
		return nil
	})
	return list, err
}

// note notes the agent's ways to sign in, and whether it wants a login, for other processes.
func (b *Backend) note(ctx context.Context, wanted bool) {
	b.mu.Lock()
	b.wants, b.in = wanted, b.in && !wanted
	last := b.last
	b.mu.Unlock()
	if last == nil {
		return
	}
	if err := b.o.Notes.Keep(ctx, b.o.Name, signin.Note{SignIns: last.signIns(), Wanted: wanted}); err != nil {
		b.log("warn", "note how to sign in: "+err.Error()) // the next process asks the agent
	}
}

// Authenticate has the agent sign in by a method of its own; the empty one is the first. It blocks
// until that is done. An agent that is signed in already is not asked again. Programs that are
// started later sign in by themselves in the same way if they must.
func (b *Backend) Authenticate(ctx context.Context, method string, hear signin.Listener) error {
	var m SignIn
	err := b.with(ctx, hear, func(p *peer) (err error) {
		if m, err = p.hello.signIn(method); err != nil {
			return err
		}
		return b.signIn(ctx, p, m)
	})
	if err == nil {
		b.signedIn(ctx, m)
	}
	return err
}

// signIn signs in to a program by a method, unless that is done already.
func (b *Backend) signIn(ctx context.Context, p *peer, m SignIn) error {
	switch {
	case p.isSignedIn(ctx):
		return nil
	case m.Terminal:
		return &core.SignInError{Agent: b.o.Name, Text: m.Name + " works only in a terminal"}
	case len(m.Vars) > 0:
		return variablesError{&core.SignInError{Agent: b.o.Name, Text: m.Name + ": " + b.Instead(m)}}
	}
	err := p.conn.Ask(ctx, "authenticate", acp.AuthenticateRequest{MethodID: m.ID}, nil)
	if errors.Is(err, wire.ErrClosed) {
		return p.reason()
	}
	if err == nil {
		p.signedOut(false)
	}
	return b.failure("authenticate", err)
}

// variablesError is a core.SignInError of a method that no command carries out, so it names none.
type variablesError struct{ *core.SignInError }

func (e variablesError) Error() string { return "agent " + e.Agent + " wants a login: " + e.Text }

func (e variablesError) Unwrap() error { return e.SignInError }

// Instead says what to do in place of a method that nobody carries out, because the agent finds its
// login in its environment; "": somebody does. Of our own variables it gets those that it is known
// to need.
func (b *Backend) Instead(m SignIn) string {
	if len(m.Vars) == 0 {
		return ""
	}
	text := "set " + display.Line(strings.Join(m.Vars, " and "), 200)
	if !slices.ContainsFunc(m.Vars, func(name string) bool { return !child.Named(b.o.Known.Env, name) }) {
		text += " where dragoman is started, or"
	}
	return text + " under agents." + b.o.Name + ".acp.env"
}

// signedIn notes that the user has signed in.
func (b *Backend) signedIn(ctx context.Context, m SignIn) {
	if !m.Terminal && len(m.Vars) == 0 {
		b.mu.Lock()
		b.method = m.ID
		b.mu.Unlock()
	}
	b.note(ctx, false)
	b.mu.Lock()
	b.in = true
	b.mu.Unlock()
}

// isSignedIn reports whether a program says that it is signed in. One that has refused a request
// for want of a login is not.
func (p *peer) isSignedIn(ctx context.Context) bool {
	p.mu.Lock()
	out := p.out
	p.mu.Unlock()
	if out || !bool(p.hello.Caps.Auth.Status) {
		return false
	}
	var is acp.AuthStatus
	return p.conn.Ask(ctx, "auth/status", struct{}{}, &is) == nil && is.State == acp.Authenticated
}

// signedOut notes whether the program has refused a request for want of a login.
func (p *peer) signedOut(out bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = out
}

// signIn finds a way to sign in; the empty id is the first.
func (h hello) signIn(id string) (SignIn, error) {
	return signin.Find(h.signIns(), id)
}

// Logout has the agent forget its login.
func (b *Backend) Logout(ctx context.Context) error {
	b.mu.Lock()
	b.method = ""
	b.mu.Unlock()
	err := b.with(ctx, nil, func(p *peer) error {
		if !p.hello.Caps.Auth.Logout {
			return fmt.Errorf("agent %s cannot log out by itself", b.o.Name)
		}
		return words("logout", p.conn.Ask(ctx, "logout", struct{}{}, nil))
	})
	if err == nil {
		b.note(ctx, true)
	}
	return err
}

// SignInStatus returns the state of the agent's login: one of those of acp.AuthStatus. It starts
// nothing: of an agent that does not run, or does not tell, it is known only that it has asked for a
// login, or that the user has given one here since.
func (b *Backend) SignInStatus(ctx context.Context) (acp.AuthStatus, error) {
	last := acp.AuthStatus{State: acp.AuthUnknown}
	_, wanted, _ := b.SignIns()
	b.mu.Lock()
	switch {
	case wanted:
		last.State = acp.Unauthenticated
	case b.in:
		last.State = acp.Authenticated
	}
	b.mu.Unlock()
	p := b.running()
	if p == nil {
		return last, nil
	}
	if !p.hello.Caps.Auth.Status {
		if said := p.said(); said != nil {
			return *said, nil
		}
		return last, nil
	}
	var is acp.AuthStatus
	if err := p.conn.Ask(ctx, "auth/status", struct{}{}, &is); err != nil {
		return last, words("auth/status", err)
	}
	return is, nil
}

// with calls do with a program of the agent: one that runs, or one that is started for it in the
// user's home folder and then ended. hear gets what it says meanwhile; nil: nobody does.
func (b *Backend) with(ctx context.Context, hear signin.Listener, do func(*peer) error) error {
	if p := b.running(); p != nil && p.take() {
		defer p.give()
		defer p.ear.Listen(hear)()
		return do(p)
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		dir = os.TempDir()
	}
	return b.alone(ctx, dir, hear, do)
}

// alone calls do with a program that is started for it in a folder, whatever else runs.
func (b *Backend) alone(ctx context.Context, dir string, hear signin.Listener, do func(*peer) error) error {
	guard, release := b.o.Guards.Hold("agent " + b.o.Name + " alone")
	defer release()
	e := &signin.Ear{}
	defer e.Listen(hear)() // behind the end of the program, so that nothing is lost
	// A login is a person's own doing, and needs the browser: it is not confined.
	is, err := b.o.Program(ctx, nil)
	if err != nil {
		return fmt.Errorf("start agent %s: %w", b.o.Name, err)
	}
	p, err := b.startAlone(ctx, is, dir, launch.Confined{Guard: guard, Release: func() {}}, func() {}, e)
	if err != nil {
		return fmt.Errorf("start agent %s: %w", b.o.Name, err)
	}
	defer p.end(errUnused)
	return do(p)
}

// running returns a program of the agent that runs, first of all one that wants a login; nil: none does.
func (b *Backend) running() (found *peer) {
	for _, m := range b.o.Pool.Members() {
		pe, ok := m.(*peer)
		if !ok || pe.b != b {
			continue
		}
		pe.mu.Lock()
		ended, out := pe.ended, pe.out
		pe.mu.Unlock()
		if !ended && (found == nil || out) {
			found = pe
		}
	}
	return found
}

// Login signs in to the agent at a terminal, by a method or, if that is empty, by the one that the
// user chooses. It blocks until that is done. The program for a method of type terminal is the
// agent's own command line with further arguments.
func (b *Backend) Login(ctx context.Context, method string, t signin.LoginTerminal) (SignIn, error) {
	var m SignIn
	err := b.with(ctx, t.Hear, func(p *peer) (err error) {
		if list := p.hello.signIns(); method == "" && len(list) > 1 {
			m, err = t.Choose(list)
		} else if m, err = p.hello.signIn(method); err != nil {
			err = fmt.Errorf("agent %s: %w", b.o.Name, err)
		}
		if err != nil || m.Terminal {
			return err
		}
		return b.signIn(ctx, p, m)
	})
	if err == nil && m.Terminal {
		err = b.runAt(ctx, m, t)
	}
	if err == nil {
		b.signedIn(ctx, m)
	}
	return m, err
}

// endFor is the time that a program at a terminal has to end when the login is given up.
const endFor = 3 * time.Second

// runAt runs the agent's program at a terminal. It does not outlive us, and neither does what it has
// started, unless it has ended by itself.
func (b *Backend) runAt(ctx context.Context, m SignIn, t signin.LoginTerminal) error {
	is, err := b.o.Program(ctx, nil)
	if err != nil {
		return err
	}
	env := b.o.Env(is.Env)
	for name, value := range m.Env {
		env = append(env, name+"="+value)
	}
	path, err := child.Find(is.Path, env, "")
	if err != nil {
		return err
	}
	cmd := exec.Command(path, append(slices.Clone(is.Args), m.Args...)...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, t.In, t.Out, t.Err, endFor
	how, err := child.RunAtTerminal(ctx, cmd, endFor)
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil && !how.Success():
		err = errors.New(how.String())
	}
	if err != nil {
		return fmt.Errorf("sign in to agent %s: %w", b.o.Name, err)
	}
	return nil
}

// retried signs in as the user did before, if a new program wants that, and reports whether it has.
func (b *Backend) retried(ctx context.Context, p *peer, err error) bool {
	var signIn *core.SignInError
	return errors.As(err, &signIn) && b.signInAgain(ctx, p)
}

// signInAgain signs in to a program as the user did before, and reports whether it has.
func (b *Backend) signInAgain(ctx context.Context, p *peer) bool {
	b.mu.Lock()
	method := b.method
	b.mu.Unlock()
	if method == "" || p.conn.Ask(ctx, "authenticate", acp.AuthenticateRequest{MethodID: method}, nil) != nil {
		return false
	}
	p.signedOut(false)
	return true
}

// renewed prepares a program whose login has expired for another attempt. A new program would find
// a login that was made elsewhere, so this one is ended if the agent can continue the session;
// ended says so. Another one signs in as the user did before. If somebody has logged in since by
// other means, it would refuse for ever: then it is ended too, once no turn uses it.
func (c *conversation) renewed(ctx context.Context, p *peer) (ended bool) {
	p.mu.Lock()
	out := p.out
	others := slices.ContainsFunc(slices.Collect(maps.Values(p.talks)), func(r route) bool { return r.c != c && r.c.parent != c })
	p.mu.Unlock()
	if !out {
		return false
	}
	if p.hello.reloads() && !others {
		p.end(errSignedOut)
		return true
	}
	if c.b.signInAgain(ctx, p) {
		return false
	}
	_, wanted, known := c.b.SignIns()
	return known && !wanted && p.endUnused(errSignedOut)
}

var errSignedOut = errors.New("its login has expired")
