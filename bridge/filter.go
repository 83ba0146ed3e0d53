package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"dragoman/adapters/wire"

	"github.com/creachadair/jrpc2"

	"dragoman/core/display"
)

// filter decides what of a server's tools is handed on to MCP clients, where there is
// no user of ours to ask: what the server's own lists take out or a rule denies is
// refused, and so is a tool that is not what was pinned, until somebody has agreed to
// it (dragoman mcp-servers approve). What a rule wants asked about the client's user is
// asked about (consent.go).
type filter struct {
	box    *Box
	server Server
	check  func(tool string, args json.RawMessage) error // an *AskFirst has the client's user asked; nil: no rule denies anything
}

// sight is what a server has said of its tools on one connection. Every list that
// is handed on goes through shown, and every call through judge, which know comes
// before.
type sight struct {
	*filter
	consents consents

	mu     sync.Mutex // guards the fields below
	said   map[string]string
	whole  bool // said is all of them, as they are now
	early  bool // the server speaks the early dialect, which has no lists
	silent bool // the server has no list, and nothing of it is pinned
	at     int  // how often the list has changed
	pages  gathered
	own    *learning
	warned map[string]string // what was logged, by tool
}

// gathered is a list of which some pages have come.
type gathered struct {
	tools map[string]string
	next  string // the cursor of the page that is missing
	at    int    // sight.at at its beginning
}

// learning is a list that is being asked for.
type learning struct {
	done chan struct{}
	err  error // set before done is closed
}

func (f *filter) sight() *sight {
	return &sight{filter: f, said: map[string]string{}, warned: map[string]string{}}
}

// pins reports whether tools are compared with what they said at first.
func (f *filter) pins() bool { return f.box.pins.path != "" }

// hides reports whether anything may be taken out of a list.
func (f *filter) hides() bool { return len(f.server.Allow)+len(f.server.Deny) > 0 || f.pins() }

// stale notes that the server's list has changed.
func (s *sight) stale() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at++
	s.whole = false
}

// settled notes the version that a server has answered initialize with.
func (s *sight) settled(version json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.early = string(version) == earlyVersion
}

// known reports whether calls can be judged: all that the server says is known.
func (s *sight) known() bool {
	if !s.pins() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whole
}

// know has the server's tools listed, if they are not known: page asks for one page
// of them, the first with the cursor "". Callers at the same time wait for one
// listing. A list that changes meanwhile is asked for again the next time.
func (s *sight) know(ctx context.Context, page func(ctx context.Context, cursor string) (json.RawMessage, error)) error {
	s.mu.Lock()
	if s.whole {
		s.mu.Unlock()
		return nil
	}
	if l := s.own; l != nil {
		s.mu.Unlock()
		select {
		case <-l.done:
			return l.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if s.early {
		s.mu.Unlock()
		return s.refused("it speaks an early dialect that has no lists")
	}
	l := &learning{done: make(chan struct{})}
	s.own = l
	all := gathered{tools: map[string]string{}, at: s.at}
	s.mu.Unlock()
	l.err = s.learn(ctx, &all, page)
	s.mu.Lock()
	s.own = nil
	s.mu.Unlock()
	close(l.done)
	return l.err
}

func (s *sight) learn(ctx context.Context, all *gathered, page func(context.Context, string) (json.RawMessage, error)) error {
	seen := map[string]bool{}
	for cursor := ""; ; {
		result, err := page(ctx, cursor)
		var refused *jrpc2.Error
		if errors.As(err, &refused) && refused.Code != codeUnreached && cursor == "" {
			return s.refused(refused.Message)
		}
		if err != nil {
			return fmt.Errorf("the MCP server %s did not list its tools: %w", s.server.Name, err)
		}
		items, next, err := toolPage(result)
		if err != nil {
			return fmt.Errorf("the MCP server %s did not list its tools: %w", s.server.Name, err)
		}
		for _, item := range items {
			if name := nameOf(item); name != "" && s.server.offers(name) {
				all.tools[name] = twice(all.tools, name, canonical(item))
			}
		}
		if next == "" || seen[next] || len(seen) >= maxPages || len(all.tools) >= maxItems {
			return s.complete(*all)
		}
		seen[next] = true
		cursor = next
	}
}

// twice is what a tool says that a list has already: one that says two things has
// never been agreed to.
func twice(have map[string]string, name, is string) string {
	if was, ok := have[name]; ok && was != is {
		return ""
	}
	return is
}

// refused: a server that lists nothing says nothing that could change; one whose
// tools are known hides them.
func (s *sight) refused(why string) error {
	known, err := s.box.pins.known(s.server.Name, false)
	if err == nil && len(known) > 0 {
		err = fmt.Errorf("the MCP server %s did not list its tools, as it has before: %s", s.server.Name, display.Plain(why))
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole, s.silent = true, true
	return nil
}

// complete takes a whole list for what the server says, and pins it at first sight.
func (s *sight) complete(all gathered) error {
	s.mu.Lock()
	s.said, s.silent = maps.Clone(all.tools), false // which changes with what is said next
	s.whole = all.at == s.at
	s.mu.Unlock()
	if !s.pins() {
		return nil
	}
	_, err := s.box.pins.first(s.server.Name, all.tools)
	return err
}

// took takes a list of tools that another connection has.
func (s *sight) took(list []*listed) error {
	s.mu.Lock()
	all := gathered{tools: map[string]string{}, at: s.at}
	s.mu.Unlock()
	for _, l := range list {
		all.tools[l.spec.Name] = canonical(l.raw)
	}
	return s.complete(all)
}

// shown is a page of the list as a client gets it, which has asked for it with the
// cursor: without what is not offered, and without a tool that is new at a known
// server; one that has changed says what it said before. Where nothing is taken out
// it is result itself.
func (s *sight) shown(cursor string, result json.RawMessage) json.RawMessage {
	if !s.hides() {
		return result
	}
	items, next, err := toolPage(result)
	if err != nil {
		s.box.opts.Log(s.server.Name, "warn", err.Error())
		return json.RawMessage(`{"tools":[]}`) // a client might find tools in it all the same
	}
	known, err := s.box.pins.known(s.server.Name, true)
	if err != nil {
		s.box.opts.Log(s.server.Name, "error", err.Error())
		known = map[string]string{} // nothing is agreed to
	}
	young := s.box.pins.isYoung(s.server.Name)
	page := map[string]string{}
	kept := make([][]byte, 0, len(items))
	same := true
	for _, item := range items {
		name := nameOf(item)
		if name == "" || !s.server.offers(name) {
			same = false
			continue
		}
		is := twice(page, name, canonical(item))
		page[name] = is
		was, ok := known[name]
		if s.pins() && known != nil && was != is && (ok || is == "" || !young) {
			same = false
			s.warn(name, s.change(name, was, is, ok))
			if !ok {
				continue
			}
			item = withName(was, name)
		}
		kept = append(kept, item)
	}
	s.gather(cursor, next, page)
	if same {
		return result
	}
	list := append(append([]byte{'['}, bytes.Join(kept, []byte{','})...), ']')
	return wire.Edit(result, wire.Set("tools", list))
}

// gather puts a page of a client's list to those before it.
func (s *sight) gather(cursor, next string, page map[string]string) {
	s.mu.Lock()
	if cursor == "" {
		s.pages = gathered{tools: map[string]string{}, at: s.at}
	}
	maps.Copy(s.said, page) // what was said last counts
	follows := s.pages.tools != nil && s.pages.next == cursor
	if !follows {
		s.mu.Unlock()
		return
	}
	for name, is := range page {
		s.pages.tools[name] = twice(s.pages.tools, name, is)
	}
	s.pages.next = next
	all := s.pages
	if next == "" {
		s.pages = gathered{}
	}
	s.mu.Unlock()
	if next != "" {
		return
	}
	if err := s.complete(all); err != nil {
		s.box.opts.Log(s.server.Name, "error", err.Error())
	}
}

// judge refuses a call of a tool that the server's lists or a rule take out, or that is
// not what was pinned. ask says that a person must be asked.
func (s *sight) judge(tool string, args json.RawMessage) (ask *AskFirst, err error) {
	if !s.server.offers(tool) {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "there is no tool %.100q", tool)
	}
	if s.check != nil {
		if err := s.check(tool, args); err != nil && !errors.As(err, &ask) {
			return nil, s.refuse(tool, err)
		}
	}
	if s.pins() {
		if err := s.unchanged(tool); err != nil {
			return nil, err
		}
	}
	return ask, nil
}

func (s *sight) refuse(tool string, err error) error {
	s.box.opts.Log(s.server.Name, "warn", fmt.Sprintf("a call of %.100q was refused: %v", tool, err))
	return jrpc2.Errorf(jrpc2.InvalidRequest, "%v", err)
}

// unchanged refuses a tool that is not what was pinned. A name that the server does
// not list now is the server's to refuse, if it ever had it.
func (s *sight) unchanged(tool string) error {
	s.mu.Lock()
	is, said := s.said[tool]
	silent := s.silent
	s.mu.Unlock()
	for _, anew := range []bool{false, true} { // somebody may have agreed in the meantime, elsewhere
		known, err := s.box.pins.known(s.server.Name, anew)
		if err != nil {
			return jrpc2.Errorf(jrpc2.InternalError, "%v", err)
		}
		was, pinned := known[tool]
		switch {
		case pinned && (!said || was == is), silent && len(known) == 0:
			return nil
		case !said && !pinned:
			return jrpc2.Errorf(jrpc2.InvalidParams, "there is no tool %.100q", tool)
		case anew:
			change := s.change(tool, was, is, pinned)
			s.warn(tool, change)
			return jrpc2.Errorf(jrpc2.InvalidRequest, "%s", change)
		}
	}
	return nil
}

// change says in one line what became of a tool, and what to do. None of it is in
// the server's own words: a model reads it.
func (s *sight) change(tool, was, is string, pinned bool) string {
	what := "is new"
	if pinned {
		old, now := wire.Object(json.RawMessage(was)), wire.Object(json.RawMessage(is))
		var fields []string
		for _, name := range slices.Sorted(maps.Keys(merged(old, now))) {
			if string(old[name]) != string(now[name]) {
				fields = append(fields, display.Plain(name))
			}
		}
		what = "has changed since it was agreed to (" + strings.Join(fields, ", ") + ")"
		if is == "" {
			what = "is listed twice, with different words"
		}
	}
	return fmt.Sprintf("the tool %s of the MCP server %s %s, and may do something else now; a person can look at it and agree to it: dragoman mcp-servers approve %s %s",
		display.Word(tool), s.server.Name, what, display.Word(s.server.Name), display.Word(tool))
}

// warn logs a change once.
func (s *sight) warn(tool, change string) {
	s.mu.Lock()
	told := s.warned[tool] == change
	s.warned[tool] = change
	s.mu.Unlock()
	if !told {
		s.box.opts.Log(s.server.Name, "warn", change)
	}
}
