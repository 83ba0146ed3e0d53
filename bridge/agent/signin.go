package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/child"
)

// SignIn is a way to sign in to an agent.
type SignIn struct {
	ID, Name, Description string
	// Terminal says that the agent's own program asks at a terminal.
	Terminal bool
	args     []string
	env      map[string]string
}

// signIns returns the ways that an agent has listed. The program that it names for editors in its
// _meta is not one.
func (h hello) signIns() (list []SignIn) {
	for _, m := range h.AuthMethods {
		if m.ID != "" {
			list = append(list, SignIn{m.ID, m.Name, m.Description, m.Type == acp.AuthTerminal, m.Args, m.Env})
		}
	}
	return list
}

// SignIns lists the ways to sign in that the agent's newest program has listed; known is false if it
// has not run.
func (b *Backend) SignIns() (list []SignIn, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		return nil, false
	}
	return b.last.signIns(), true
}

// AskSignIns is SignIns, and starts the agent if it does not run.
func (b *Backend) AskSignIns(ctx context.Context) (list []SignIn, err error) {
	err = b.with(ctx, func(p *peer) error {
		list = p.hello.signIns()
		return nil
	})
	return list, err
}

// WantsSignIn reports whether the agent's last answer was that it wants a login.
func (b *Backend) WantsSignIn() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wants
}

func (b *Backend) wanting(wants bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wants = wants
}

// Authenticate has the agent sign in by a method of its own. It blocks until that is done. Programs
// that are started later sign in by themselves in the same way if they must.
func (b *Backend) Authenticate(ctx context.Context, method string) error {
	err := b.with(ctx, func(p *peer) error {
		m, err := p.hello.signIn(method)
		if err != nil {
			return err
		}
		if m.Terminal {
			return fmt.Errorf("agent %s asks for it at a terminal: run dragoman agents login %s", b.o.Name, b.o.Name)
		}
		return words("authenticate", p.conn.Ask(ctx, "authenticate", acp.AuthenticateRequest{MethodID: m.ID}, nil))
	})
	if err == nil {
		b.mu.Lock()
		b.method, b.wants = method, false
		b.mu.Unlock()
	}
	return err
}

// signIn finds a way to sign in; the empty id is the first.
func (h hello) signIn(id string) (SignIn, error) {
	list := h.signIns()
	if len(list) == 0 {
		return SignIn{}, errors.New("it offers no way to sign in")
	}
	if id == "" {
		return list[0], nil
	}
	i := slices.IndexFunc(list, func(m SignIn) bool { return m.ID == id })
	if i < 0 {
		var ids []string
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		return SignIn{}, fmt.Errorf("it has no method %q to sign in; it has %s", id, strings.Join(ids, ", "))
	}
	return list[i], nil
}

// Logout has the agent forget its login.
func (b *Backend) Logout(ctx context.Context) error {
	b.mu.Lock()
	b.method = ""
	b.mu.Unlock()
	return b.with(ctx, func(p *peer) error {
		if !p.hello.Caps.Auth.Logout {
			return fmt.Errorf("agent %s cannot sign out by itself", b.o.Name)
		}
		return words("logout", p.conn.Ask(ctx, "logout", struct{}{}, nil))
	})
}

// SignInStatus returns the state of the login of an agent that runs: one of those of acp.AuthStatus.
// It starts nothing; acp.AuthUnknown: the agent does not run, or does not tell.
func (b *Backend) SignInStatus(ctx context.Context) (acp.AuthStatus, error) {
	unknown := acp.AuthStatus{State: acp.AuthUnknown}
	p := b.o.Pool.any(b)
	if p == nil || !bool(p.hello.Caps.Auth.Status) {
		return unknown, nil
	}
	var is acp.AuthStatus
	if err := p.conn.Ask(ctx, "auth/status", struct{}{}, &is); err != nil {
		return unknown, words("auth/status", err)
	}
	return is, nil
}

// with calls do with a program of the agent: one that runs, or one that is started for it in the
// user's home folder and then ended.
func (b *Backend) with(ctx context.Context, do func(*peer) error) error {
	if p := b.o.Pool.any(b); p != nil {
		return do(p)
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		dir = os.TempDir()
	}
	return b.alone(ctx, dir, do)
}

// alone calls do with a program that is started for it in a folder, whatever else runs.
func (b *Backend) alone(ctx context.Context, dir string, do func(*peer) error) error {
	guard, release := b.o.Guards.Hold("agent " + b.o.Name + " alone")
	defer release()
	p, err := b.start(ctx, dir, guard, func() {})
	if err != nil {
		return fmt.Errorf("start agent %s: %w", b.o.Name, err)
	}
	defer p.end(errUnused)
	return do(p)
}

// any returns a program of an agent that runs; nil: none does.
func (p *Pool) any(b *Backend) *peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pe := range p.running {
		if pe.b == b {
			return pe
		}
	}
	return nil
}

// LoginTerminal is the terminal of a login. Files must be those of the process, so that the agent's
// program can ask there.
type LoginTerminal struct {
	In, Out, Err *os.File
	// Choose asks which of several ways to take; nil: the first.
	Choose func([]SignIn) (SignIn, error)
}

// Login signs in to the agent at a terminal, by a method or, if that is empty, by the one that the
// user chooses. It blocks until that is done. The program for a method of type terminal is the
// agent's own command line with further arguments.
func (b *Backend) Login(ctx context.Context, method string, t LoginTerminal) error {
	var m SignIn
	err := b.with(ctx, func(p *peer) (err error) {
		list := p.hello.signIns()
		switch {
		case len(list) == 0:
			return fmt.Errorf("agent %s offers no way to sign in; it may need none, or a key in its environment", b.o.Name)
		case method == "" && len(list) > 1 && t.Choose != nil:
			m, err = t.Choose(list)
		default:
			m, err = p.hello.signIn(method)
		}
		if err != nil || m.Terminal {
			return err
		}
		fmt.Fprintf(t.Err, "%s: waiting for agent %s; it may open a page in your browser.\n", m.Name, b.o.Name)
		return words("authenticate", p.conn.Ask(ctx, "authenticate", acp.AuthenticateRequest{MethodID: m.ID}, nil))
	})
	if err != nil || !m.Terminal {
		return err
	}
	return b.runAt(ctx, m, t)
}

// runAt runs the agent's program at a terminal.
func (b *Backend) runAt(ctx context.Context, m SignIn, t LoginTerminal) error {
	is, err := b.o.Program(ctx)
	if err != nil {
		return err
	}
	env := b.environ(is.Env)
	for name, value := range m.env {
		env = append(env, name+"="+value)
	}
	path, err := child.Find(is.Path, env, "")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, append(slices.Clone(is.Args), m.args...)...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, t.In, t.Out, t.Err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("sign in to agent %s: %w", b.o.Name, err)
	}
	return nil
}

// retried signs in as the user did before, if a new program wants that, and reports whether it has.
func (b *Backend) retried(ctx context.Context, p *peer, err error) bool {
	var signIn *core.SignInError
	b.mu.Lock()
	method := b.method
	b.mu.Unlock()
	return errors.As(err, &signIn) && method != "" &&
		p.conn.Ask(ctx, "authenticate", acp.AuthenticateRequest{MethodID: method}, nil) == nil
}
