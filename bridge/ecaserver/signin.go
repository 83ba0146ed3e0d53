package ecaserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/agent/signin"
	"dragoman/core"
	"dragoman/core/display"
)

// A server signs in to providers of models. A way to sign in is one of a provider's, PROVIDER/METHOD.

// provider is an entry of the server's list.
type provider struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Auth  struct {
		Status string `json:"status"`
	} `json:"auth"`
	Login struct {
		Methods []eca.LoginMethod `json:"methods"`
	} `json:"login"`
}

// works reports whether the server can use a provider.
func (p provider) works() bool {
	return slices.Contains([]string{string(eca.AuthAuthenticated), "expiring", string(eca.AuthLocal)}, p.Auth.Status)
}

// providers asks for the server's providers. One of an early document has none.
func (p *peer) providers(ctx context.Context) (list []provider, err error) {
	var is struct {
		Providers []provider `json:"providers"`
	}
	if err := p.conn.Ask(ctx, eca.MethodProvidersList, struct{}{}, &is); err != nil && !unsupported(err) {
		return nil, words(eca.MethodProvidersList, err)
	}
	return is.Providers, nil
}

// methods returns the ways to sign in.
func methods(list []provider) (ways []signin.Method) {
	for _, p := range list {
		name := p.Label
		if name == "" {
			name = p.ID
		}
		for _, m := range p.Login.Methods {
			label := name
			if m.Label != "" {
				label += ": " + m.Label
			}
			ways = append(ways, signin.Method{ID: p.ID + "/" + m.Key, Name: display.Line(label, 200)})
		}
	}
	return ways
}

// note notes whether the server wants a login, for other processes too.
func (b *Backend) note(wanted bool) {
	b.mu.Lock()
	b.wants, b.in = wanted, b.in && !wanted
	ways, known := b.ways, b.asked
	b.mu.Unlock()
	if !known {
		return
	}
	if err := b.o.Notes.Keep(context.Background(), b.o.Name, signin.Note{SignIns: ways, Wanted: wanted}); err != nil {
		b.o.Say("warn", "note how to sign in: "+err.Error()) // the next process asks the server
	}
}

// met notes the ways to sign in that a server has listed.
func (b *Backend) met(list []provider) []signin.Method {
	ways := methods(list)
	b.mu.Lock()
	b.ways, b.asked = ways, true
	wants := b.wants
	b.mu.Unlock()
	b.note(wants)
	return ways
}

// SignIns lists the ways to sign in that the server has listed last, in this process or an earlier one; known is
// false if it was never asked. wanted says that its last answer was that it wants a login. It may read a file.
func (b *Backend) SignIns() (list []signin.Method, wanted, known bool) {
	note, known := b.o.Notes.Of(b.o.Name)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !known { // another process would have noted a later login
		note.Wanted = b.wants
	}
	if b.asked {
		return b.ways, note.Wanted, true
	}
	return note.SignIns, note.Wanted, known
}

// AskSignIns is SignIns, and starts the server if it does not run.
func (b *Backend) AskSignIns(ctx context.Context) (list []signin.Method, err error) {
	err = b.with(ctx, nil, func(p *peer) error {
		found, err := p.providers(ctx)
		list = b.met(found)
		return err
	})
	return list, err
}

// Instead returns "": every way to sign in is carried out here.
func (b *Backend) Instead(signin.Method) string { return "" }

// Authenticate signs in by a method; the empty one is the first. It blocks until that is done. A method that
// needs an input works at a terminal alone (Login).
func (b *Backend) Authenticate(ctx context.Context, method string, hear signin.Listener) error {
	_, err := b.signIn(ctx, hear, func([]signin.Method) (string, error) { return method, nil }, nil)
	return err
}

// Login signs in at a terminal, by a method or, if that is empty, by the one that the user chooses.
func (b *Backend) Login(ctx context.Context, method string, t signin.LoginTerminal) (signin.Method, error) {
	return b.signIn(ctx, t.Hear, func(list []signin.Method) (string, error) {
		if method != "" || len(list) < 2 {
			return method, nil
		}
		m, err := t.Choose(list)
		return m.ID, err
	}, t.Input)
}

// signIn signs in by a method. input is asked for what the method needs; nil: nobody can be asked.
func (b *Backend) signIn(ctx context.Context, hear signin.Listener, choose func([]signin.Method) (string, error), input func(string, bool) (string, error)) (m signin.Method, err error) {
	err = b.with(ctx, hear, func(p *peer) error {
		list, err := p.providers(ctx)
		if err != nil {
			return err
		}
		ways := b.met(list)
		id, err := choose(ways)
		if err != nil {
			return err
		}
		if m, err = signin.Find(ways, id); err != nil {
			return fmt.Errorf("agent %s: %w", b.o.Name, err)
		}
		name, key, _ := strings.Cut(m.ID, "/")
		return p.login(ctx, name, key, input)
	})
	if err != nil {
		return m, err
	}
	b.note(false)
	b.mu.Lock()
	b.in = true
	b.mu.Unlock()
	return m, nil
}

// loginStep is the server's answer to a step of a login.
type loginStep struct {
	Action  string `json:"action"` // choose-method, input, authorize, device-code or done
	URL     string `json:"url"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Fields  []struct {
		Key   string `json:"key"`
		Label string `json:"label"`
		Type  string `json:"type"`
	} `json:"fields"`
	Error *eca.Fault `json:"error"`
}

// maxSteps limits the steps of a login.
const maxSteps = 10

// login carries out a login to a provider.
func (p *peer) login(ctx context.Context, name, key string, input func(string, bool) (string, error)) error {
	ready := p.expect(name)
	defer p.expected(name)
	var step loginStep
	err := p.conn.Ask(ctx, eca.MethodProvidersLogin, eca.LoginParams{Provider: name, Method: &key}, &step)
	for range maxSteps {
		switch {
		case err != nil:
			return words(eca.MethodProvidersLogin, err)
		case step.Error != nil:
			return errors.New(step.Error.Message)
		case step.Action == string(eca.LoginDone):
			return nil
		}
		if step.URL != "" {
			text := strings.TrimSpace(display.Seen(step.Message))
			if step.Code != "" {
				text = strings.TrimSpace(text + "\nEnter this code there: " + display.Line(step.Code, 100))
			}
			if !signin.IsPage(step.URL) || !p.ear.Hear(ctx, signin.Saying{Text: text, URL: step.URL}) {
				return &core.SignInError{Agent: p.b.o.Name, Text: "the page of the login could not be shown"}
			}
		}
		if len(step.Fields) == 0 {
			select {
			case <-ready:
				return nil
			case <-p.life.Done():
				return p.reason()
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if input == nil {
			return &core.SignInError{Agent: p.b.o.Name, Text: "this way needs an input, which is asked for at a terminal"}
		}
		data := map[string]string{}
		for _, f := range step.Fields {
			if data[f.Key], err = input(display.Line(f.Label, 200), f.Type != eca.InputText); err != nil {
				return err
			}
		}
		step = loginStep{}
		err = p.conn.Ask(ctx, eca.MethodProvidersInput, eca.LoginInputParams{Provider: name, Data: data}, &step)
	}
	return fmt.Errorf("the login has more than %d steps", maxSteps)
}

// expect returns a channel that is closed when the server can use a provider.
func (p *peer) expect(name string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	ready := make(chan struct{})
	p.logins[name] = ready
	return ready
}

func (p *peer) expected(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.logins, name)
}

// providersUpdated handles providers/updated.
func (p *peer) providersUpdated(params json.RawMessage) {
	var is provider
	if wire.Unmarshal(params, &is) != nil || !is.works() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ready := p.logins[is.ID]; ready != nil {
		close(ready)
		delete(p.logins, is.ID)
	}
}

// Logout has the server forget its logins.
func (b *Backend) Logout(ctx context.Context) error {
	err := b.with(ctx, nil, func(p *peer) error {
		list, err := p.providers(ctx)
		if err != nil {
			return err
		}
		out := 0
		for _, is := range list {
			if len(is.Login.Methods) == 0 || !is.works() {
				continue
			}
			if err := p.conn.Ask(ctx, eca.MethodProvidersLogout, eca.LogoutParams{Provider: is.ID}, nil); err != nil {
				return words(eca.MethodProvidersLogout, err)
			}
			out++
		}
		if out == 0 {
			return fmt.Errorf("agent %s has no login that it could forget", b.o.Name)
		}
		return nil
	})
	if err == nil {
		b.note(true)
	}
	return err
}

// with calls do with a program of the server: one that runs, or one that is started for it in the folder that
// we were started in and then ended. hear gets what it says meanwhile; nil: nobody does.
func (b *Backend) with(ctx context.Context, hear signin.Listener, do func(*peer) error) error {
	for _, m := range b.o.Pool.Members() {
		if p, ok := m.(*peer); ok && p.b == b && p.take() {
			defer p.give()
			defer p.ear.Listen(hear)()
			return do(p)
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = os.TempDir()
	}
	return b.alone(ctx, dir, hear, do)
}

// alone calls do with a program that is started for it in a folder. It is not confined: a login is a person's
// own doing, and needs the browser.
func (b *Backend) alone(ctx context.Context, dir string, hear signin.Listener, do func(*peer) error) error {
	guard, release := b.o.Guards.Hold("agent " + b.o.Name + " alone")
	defer release()
	is, err := b.o.Program(ctx, nil)
	if err != nil {
		return fmt.Errorf("start agent %s: %w", b.o.Name, err)
	}
	p, err := b.start(ctx, is, place{meta: core.Meta{Cwd: dir}}, launch.Confined{Guard: guard, Release: func() {}}, func() {}, hear)
	if err != nil {
		return fmt.Errorf("start agent %s: %w", b.o.Name, err)
	}
	defer p.end(errUnused)
	err = do(p)
	if errors.Is(err, wire.ErrClosed) {
		err = p.reason()
	}
	return err
}
