package agenttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// errCanceled is the cause of a turn's end that the client wanted.
var errCanceled = errors.New("cancelled")

// agent is the process's state.
type agent struct {
	o      Options
	peer   *peer
	in     io.Reader
	errs   io.Writer
	faults map[string]string
	turns  sync.WaitGroup
	still  chan struct{} // closed: no more is read
	stop   sync.Once     // closes it

	mu       sync.Mutex // guards the fields below
	client   json.RawMessage
	booleans bool // the client shows boolean options
	signedIn bool
	sessions map[string]*session
	stubborn bool // it outlives the end of its input
}

// Run is the main function of an agent: it serves a client until its input ends, and returns the
// exit code. With the argument --login it signs in at the terminal instead.
func Run(ctx context.Context, o Options, args []string, in io.Reader, out, errs io.Writer) int {
	time.AfterFunc(math.MaxInt64, func() {}) // an agent that is told to hang is no deadlock, for which Go would end it
	a := &agent{o: o, peer: newPeer(out), in: in, errs: errs, faults: maps.Clone(o.Faults), still: make(chan struct{}), sessions: map[string]*session{}}
	if a.faults == nil {
		a.faults = map[string]string{}
	}
	if b, err := os.ReadFile(o.FaultsFile); err == nil {
		if err := json.Unmarshal(b, &a.faults); err != nil {
			fmt.Fprintln(errs, "faults:", err)
		}
	}
	if slices.Contains(args, "--login") {
		return a.loginHere()
	}
	a.record(fmt.Sprintf("start %d", os.Getpid()))
	if _, done := a.fault(ctx, "start", nil); done {
		return 0
	}
	ctx, end := context.WithCancel(ctx)
	a.read(ctx)
	end()
	a.turns.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		s.closeServers()
	}
	return 0
}

// leave ends the process at once. os.Exit would wait for a second with the race detector.
func leave(code int) { syscall.Exit(code) }

// record appends a line to the record.
func (a *agent) record(line string) {
	if a.o.Record == "" {
		return
	}
	f, err := os.OpenFile(a.o.Record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(a.errs, "record:", err)
		return
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

// read takes messages until the input ends.
func (a *agent) read(ctx context.Context) {
	in := bufio.NewReader(a.in)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			a.record(string(line))
			a.take(ctx, line)
		}
		select {
		case <-a.still:
			<-ctx.Done()
		default:
		}
		if err != nil {
			a.mu.Lock()
			stubborn := a.stubborn
			a.mu.Unlock()
			if stubborn {
				<-ctx.Done()
			}
			return
		}
	}
}

// take handles a message. Requests that wait for something have goroutines.
func (a *agent) take(ctx context.Context, line []byte) {
	var m message
	if line[0] == '[' {
		_ = a.peer.respond(ctx, json.RawMessage(`null`), nil, &failure{Code: codeInvalid, Message: "batches are not supported"})
		return
	}
	if err := json.Unmarshal(line, &m); err != nil {
		_ = a.peer.respond(ctx, json.RawMessage(`null`), nil, &failure{Code: -32700, Message: err.Error()})
		return
	}
	switch {
	case m.Method == "" && m.ID != nil:
		a.peer.answered(m)
	case m.ID == nil:
		a.notified(m)
	case m.Method == "session/prompt" || m.Method == "authenticate" || a.faults[m.Method] != "":
		a.begin(ctx, m)
	default:
		result, err := a.handle(ctx, m)
		a.answer(ctx, m, result, err)
	}
}

// begin handles a request in a goroutine. The prompt of a session counts as running when it returns.
func (a *agent) begin(ctx context.Context, m message) {
	var t *turn
	inner := ctx // ends with the turn
	if m.Method == "session/prompt" {
		var err error
		if t, inner, err = a.newTurn(ctx, m.Params); err != nil {
			_ = a.peer.respond(ctx, m.ID, nil, err) // its input ends when its output does
			return
		}
	}
	a.turns.Go(func() {
		result, done := a.fault(inner, m.Method, &m)
		err, failed := result.(*failure)
		if t != nil && (done || result != nil) {
			t.over()
		}
		switch {
		case done:
			return
		case failed:
			a.answer(ctx, m, nil, err)
		case result != nil:
			a.answer(ctx, m, result, nil)
		case t == nil:
			result, err := a.handle(ctx, m)
			a.answer(ctx, m, result, err)
		default:
			result, err := t.run(inner, m.ID)
			t.over()
			if !errors.Is(err, errAnswered) {
				a.answer(ctx, m, result, err)
			}
			t.afterwards(ctx)
		}
	})
}

// answer responds to a request, and sends what comes after that.
func (a *agent) answer(ctx context.Context, m message, result any, err error) {
	_ = a.peer.respond(ctx, m.ID, result, err) // its input ends when its output does
	a.follow(ctx, m, result, err)
}

func (a *agent) notified(m message) {
	if m.Method != "session/cancel" {
		return
	}
	if s, err := a.session(m.Params); err == nil {
		s.cancel()
	}
}

// handle answers a request.
func (a *agent) handle(ctx context.Context, m message) (any, error) {
	switch {
	case m.Method == "initialize":
		return a.initialize(m.Params)
	case m.Method == "authenticate":
		return nil, a.authenticate(ctx, m.Params)
	case m.Method == "logout":
		return nil, a.logout()
	case m.Method == "auth/status":
		return object{"state": a.status()}, nil
	case m.Method == "session/new":
		return a.newSession(m.Params)
	case m.Method == "session/load" && a.o.Load:
		return a.openSession(ctx, m.Params, true)
	case m.Method == "session/resume" && a.o.Resume:
		return a.openSession(ctx, m.Params, false)
	case m.Method == "session/fork" && a.o.Fork:
		return a.forkSession(m.Params)
	case m.Method == "session/list" && a.o.List:
		return a.list(m.Params)
	case m.Method == "session/close" && a.o.Close:
		return nil, a.closeSession(m.Params, false)
	case m.Method == "session/delete" && a.o.Delete:
		return nil, a.closeSession(m.Params, true)
	case m.Method == "session/set_mode":
		return nil, a.setMode(ctx, m.Params)
	case m.Method == "session/set_model" && len(a.o.Models) > 0:
		return nil, a.setModel(m.Params)
	case m.Method == "session/set_config_option" && len(a.o.Config) > 0:
		return a.setOption(m.Params)
	}
	return nil, &failure{Code: codeMethod, Message: "method not found: " + m.Method}
}

// follow sends what comes after a response: the commands of a session that was opened.
func (a *agent) follow(ctx context.Context, m message, result any, err error) {
	if err != nil || len(a.o.Commands) == 0 {
		return
	}
	switch m.Method {
	case "session/new", "session/load", "session/resume", "session/fork":
		var r struct{ SessionID string }
		_ = json.Unmarshal(m.Params, &r)
		if r.SessionID == "" || m.Method == "session/fork" {
			_ = json.Unmarshal(encode(result), &r)
		}
		_ = a.peer.notify(ctx, "session/update", object{"sessionId": r.SessionID, "update": object{"sessionUpdate": "available_commands_update", "availableCommands": a.o.Commands}})
	}
}

func (a *agent) initialize(params json.RawMessage) (any, error) {
	var r struct {
		ClientCapabilities struct {
			Session struct {
				ConfigOptions struct{ Boolean json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, &failure{Code: codeParams, Message: err.Error()}
	}
	boolean := string(r.ClientCapabilities.Session.ConfigOptions.Boolean)
	a.mu.Lock()
	a.client = params
	a.booleans = boolean != "" && boolean != "null" && boolean != "false"
	a.mu.Unlock()
	can := object{}
	for name, has := range map[string]bool{"list": a.o.List, "resume": a.o.Resume, "close": a.o.Close, "fork": a.o.Fork, "delete": a.o.Delete} {
		if has {
			can[name] = object{}
		}
	}
	auth := object{"status": object{}}
	if a.o.Login != "" {
		auth["logout"] = object{}
	}
	methods := a.o.Auth
	if methods == nil {
		methods = []AuthMethod{}
	}
	return object{
		"protocolVersion": 1,
		"agentInfo":       object{"name": "scripted", "title": "Scripted agent", "version": "1.0.0"},
		"authMethods":     methods,
		"agentCapabilities": object{
			"loadSession":         a.o.Load,
			"promptCapabilities":  object{"image": a.o.Images, "audio": a.o.Audio, "embeddedContext": a.o.Resources},
			"mcpCapabilities":     object{"http": a.o.HTTP, "sse": a.o.SSE},
			"sessionCapabilities": can,
			"auth":                auth,
		},
	}, nil
}

// authorized reports whether sessions can be opened.
func (a *agent) authorized() bool {
	if len(a.o.Auth) == 0 {
		return true
	}
	for _, m := range a.o.Auth {
		for _, v := range m.Vars {
			if m.Type == "env_var" && os.Getenv(v.Name) != "" {
				return true
			}
		}
	}
	if _, err := os.Stat(a.o.Login); err == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.signedIn
}

func (a *agent) status() string {
	switch {
	case len(a.o.Auth) == 0:
		return "not_required"
	case a.authorized():
		return "authenticated"
	default:
		return "unauthenticated"
	}
}

// authenticate signs in by a method of the agent's own.
func (a *agent) authenticate(ctx context.Context, params json.RawMessage) error {
	var r struct{ MethodID string }
	_ = json.Unmarshal(params, &r)
	i := slices.IndexFunc(a.o.Auth, func(m AuthMethod) bool { return m.ID == r.MethodID })
	switch {
	case i < 0:
		return &failure{Code: codeParams, Message: "unknown method " + r.MethodID}
	case a.authorized():
	case a.o.Auth[i].Type != "":
		return &failure{Code: codeAuth, Message: "sign in outside of the client: " + a.o.Auth[i].Name}
	default:
		fmt.Fprintln(a.errs, "open https://login.example/device?code=ABCD to sign in")
		a.mu.Lock()
		a.signedIn = true
		a.mu.Unlock()
		a.keepLogin()
	}
	return a.peer.notify(ctx, "auth/status_update", object{"state": a.status()})
}

func (a *agent) keepLogin() {
	if a.o.Login == "" {
		return
	}
	if err := os.WriteFile(a.o.Login, []byte("signed in\n"), 0o600); err != nil {
		fmt.Fprintln(a.errs, "login:", err)
	}
}

// loginHere signs in at a terminal.
func (a *agent) loginHere() int {
	fmt.Fprint(a.errs, "Code: ")
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if code := strings.TrimSpace(line); code == "" {
		fmt.Fprintln(a.errs, "no code:", err)
		return 1
	}
	a.keepLogin()
	fmt.Fprintln(a.errs, "Signed in.")
	return 0
}

func (a *agent) logout() error {
	a.mu.Lock()
	a.signedIn = false
	a.mu.Unlock()
	if err := os.Remove(a.o.Login); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
