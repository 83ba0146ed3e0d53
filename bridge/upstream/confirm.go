package upstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/display"
)

var errRefused = errors.New("you did not agree to starting it")

// question is the consent to the servers that a client brings at the same time: the user is
// asked once about all of them.
type question struct {
	servers []Server

	mu    sync.Mutex        // guards the fields below
	round *round            // the newest
	heard map[string]*round // the last of each server, by its name
}

// round is one time that the user is asked.
type round struct {
	done chan struct{} // closed at its end
	err  error         // nobody has answered
}

// confirm asks the user once whether to start a server that is not in the user's own
// configuration, together with the others of its question.
func (u *upstream) confirm(ctx context.Context, e Endpoint) error {
	if !u.server.Confirm {
		return nil
	}
	q := u.server.question
	if q == nil {
		q = &question{servers: []Server{u.server}, heard: map[string]*round{}}
	}
	for ctx.Err() == nil {
		switch agreed, known := u.consented(e); {
		case known && agreed:
			return nil
		case known:
			return errRefused
		}
		u.waits("waits for your answer")
		err := q.put(ctx, u, e)
		u.mu.Lock()
		u.begun = time.Now() // the time that the answer took is not the server's
		u.mu.Unlock()
		if u.waits(""); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// put has a server, whose endpoint is e, ask the question, unless another one is doing so or has
// done so since the server's last time. An error means that nobody has answered.
func (q *question) put(ctx context.Context, u *upstream, e Endpoint) error {
	q.mu.Lock()
	r, mine := q.round, q.round == q.heard[u.server.Name]
	if mine {
		r = &round{done: make(chan struct{})}
		q.round = r
	}
	q.heard[u.server.Name] = r
	q.mu.Unlock()
	if !mine {
		select {
		case <-r.done:
			return r.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if r.err = u.ask(ctx, e, q.servers); ctx.Err() != nil {
		r.err = nil // it is no longer wanted; another server asks
	}
	close(r.done)
	return r.err
}

// consented returns the user's answer about an endpoint.
func (u *upstream) consented(e Endpoint) (agreed, known bool) {
	key, of := agreementOf(e), u.host.Meta().Principal
	u.box.mu.Lock()
	agreed, known = u.box.confirmed[consentKey{of, key}]
	u.box.mu.Unlock()
	kept := !known && u.box.agreements(of).Has(key)
	return agreed || kept, known || kept
}

// ask asks the user about those of the servers that there is no answer about, each with its
// whole command. The answer holds for each of them. own is the endpoint of u itself: another look
// at its secrets may give other ones.
func (u *upstream) ask(ctx context.Context, own Endpoint, servers []Server) error {
	of := u.host.Meta().Principal
	var names, lines, keys []string
	text := ""
	for _, s := range servers {
		e := own
		if s.Name != u.server.Name {
			var err error
			if e, err = s.Endpoint(ctx); err != nil {
				continue // its own start reports that
			}
			e = e.In(u.host.Meta().Cwd)
		}
		if _, known := u.consented(e); known {
			continue
		}
		name, what := display.Word(s.Name), display.Word(e.URL)
		text = "The client of this session wants to use the MCP server " + name + " at " + what + ". Connect to it?"
		if !e.Remote() {
			what = e.program()
			text = "The client of this session wants to start the MCP server " + name + ", which is the program: " + what + ". Start it?"
		}
		names, lines, keys = append(names, s.Name), append(lines, name+": "+what), append(keys, agreementOf(e))
	}
	if len(keys) == 0 { // answered meanwhile in another session
		return nil
	}
	if len(keys) > 1 {
		text = fmt.Sprintf("The client of this session wants to start %d MCP servers. Start them?\n%s", len(keys), strings.Join(lines, "\n"))
	}
	r, err := u.host.Ask(ctx, core.Ask{Kind: core.AskConsent, Text: text, Options: u.box.mayStart(len(keys) > 1)})
	if err != nil {
		return err
	}
	if r.Outcome != core.OutcomeAnswered && r.Outcome != core.OutcomeDeclined {
		return errors.New("it has not been approved yet")
	}
	always := r.Outcome == core.OutcomeAnswered && r.Option == "always"
	agreed := always || r.Outcome == core.OutcomeAnswered && r.Option == "start"
	for i, key := range keys {
		if always {
			if err := u.box.agreements(of).Add(key, names[i]); err != nil {
				u.box.opts.Log(names[i], "warn", "that it may always be started is not kept: "+err.Error())
			}
		}
		u.box.mu.Lock()
		u.box.confirmed[consentKey{of, key}] = agreed
		u.box.mu.Unlock()
	}
	return nil
}

// agreements returns the agreements of a principal that outlive the process.
func (b *Box) agreements(p core.Principal) Agreements {
	return Agreements{Path: b.opts.AgreedFile}.Of(p, b.opts.Owner)
}

// mayStart returns the options for the question whether to start a server, or several.
func (b *Box) mayStart(several bool) []core.Option {
	it := map[bool]string{false: "it", true: "them"}[several]
	list := []core.Option{{ID: "start", Label: "Start " + it, Decision: core.AllowOnce}}
	if b.opts.AgreedFile != "" {
		list = append(list, core.Option{ID: "always", Label: "Start " + it + ", also in the future", Decision: core.AllowSession, Changes: true})
	}
	return append(list, core.Option{ID: "no", Label: "Do not start " + it, Decision: core.RejectOnce})
}

// program describes a program so that the user can judge it: each argument separately, the
// folder, and the names of the variables, with the values of those that load code.
func (e Endpoint) program() string {
	words := []string{display.Word(e.Command)}
	for _, a := range e.Args {
		words = append(words, display.Word(a))
	}
	text := strings.Join(words, " ") + " in " + display.Word(e.Dir)
	var set []string
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		if loadsCode(name) {
			set = append(set, display.Word(name)+"="+display.Word(e.Env[name]))
		} else {
			set = append(set, display.Word(name))
		}
	}
	if len(set) > 0 {
		text += " with " + strings.Join(set, ", ") + " in its environment"
	}
	return text
}

// loadsCode reports whether a variable can make a program run foreign code.
func loadsCode(name string) bool {
	name = strings.ToUpper(name)
	for _, begin := range []string{"LD_", "DYLD_", "NODE_OPTIONS", "NODE_PATH", "PYTHON", "PERL5", "RUBY", "JAVA_TOOL", "_JAVA", "BASH_ENV", "ENV", "PATH", "GIT_", "NPM_CONFIG"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return false
}
