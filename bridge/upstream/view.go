package upstream

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

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream/definition"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
)

// View is the knowledge about the tools of an Export's server on one connection. Every list for a
// client goes through Shown, or Agreed, and every call through Rule. A call needs the tools to be
// known (Known); the connection asks for them (Know), or the box does (KnowFromBox).
type View struct {
	*Export
	consents *Consents

	mu     sync.Mutex // guards the fields below
	said   map[string]string
	saidAt int  // View.at at the beginning of said
	whole  bool // said has all current tools
	bare   bool // the server's version may have no list of tools
	silent bool // the server has no list, and none of its tools is pinned
	at     int  // the number of changes of the list
	pages  partialList
	own    *toolListing
	taken  []*listedTool   // from KnowFromBox
	warned map[string]bool // logged reasons for leaving tools out
	last   *agreedList     // of Agreed; nil: there was none
}

// partialList is a list of which some pages have arrived.
type partialList struct {
	tools map[string]string
	next  string // the cursor of the missing page
	at    int    // View.at at its beginning
}

// toolListing is a running request for a list.
type toolListing struct {
	at   int // View.at at its beginning
	done chan struct{}
	err  error // set before done is closed
}

// Changes returns the number of changes of the server's list until now, for Agreed.
func (v *View) Changes() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.at
}

// Stale records that the server's list has changed.
func (v *View) Stale() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at++
	v.whole = false
}

// Settled records the version in a server's response to initialize.
func (v *View) Settled(version json.RawMessage) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.bare = string(version) == proto.Numbered
}

// Known reports whether calls can be judged: the server's whole list is known.
func (v *View) Known() bool {
	if !v.Pins() {
		return true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.whole
}

// Listed reports whether the server's whole list is known.
func (v *View) Listed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.whole
}

// Know has the server's tools listed if they are not known: page asks for one page of them, the
// first with the cursor "". Concurrent callers wait for one listing, unless the list has changed
// since it began. A list that changes in the meantime is requested again the next time.
func (v *View) Know(ctx context.Context, page askPage) error {
	v.mu.Lock()
	came := v.at
	for l := v.own; l != nil && !v.whole; l = v.own {
		v.mu.Unlock()
		select {
		case <-l.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if l.at >= came {
			return l.err
		}
		v.mu.Lock()
	}
	whole, bare := v.whole, v.bare
	l := &toolListing{at: v.at, done: make(chan struct{})}
	if !whole && !bare {
		v.own = l
	}
	v.mu.Unlock()
	switch {
	case whole:
		return nil
	case bare:
		return v.refused("its version of the protocol has no list of tools")
	}
	all := partialList{tools: map[string]string{}, at: l.at}
	l.err = v.learn(ctx, &all, page)
	v.mu.Lock()
	v.own = nil
	v.mu.Unlock()
	close(l.done)
	return l.err
}

func (v *View) learn(ctx context.Context, all *partialList, page askPage) error {
	begun := false
	err := eachPage(ctx, proto.MethodListTools, "tools", page, func(items []json.RawMessage) int {
		begun = true
		for _, item := range items {
			name, _, err := definition.Fit(item)
			if _, taken := all.tools[name]; err == nil && !taken && v.Server.offers(name) {
				all.tools[name] = definition.Canonical(item)
			}
		}
		return len(all.tools)
	})
	var refused *jrpc2.Error
	switch {
	case !begun && errors.As(err, &refused) && refused.Code != streamable.CodeUnreached:
		return v.refused(refused.Message)
	case err != nil:
		return fmt.Errorf("the MCP server %s did not list its tools: %w", v.Server.Name, err)
	}
	return v.complete(*all)
}

// KnowFromBox lists the tools over a connection of the box's own, which belongs to no session and
// whose programs are started in dir. It does nothing if tools are not pinned.
func (v *View) KnowFromBox(ctx context.Context, dir string) error {
	if !v.Pins() {
		return nil
	}
	ctx, cancel := Within(ctx, v.Server.StartFor(), "it took too long")
	defer cancel()
	list, lists, err := v.listing(ctx, dir)
	switch {
	case err != nil:
		return jrpc2.Errorf(
			jrpc2.InternalError,
			"the tools of the MCP server %s cannot be listed: %v",
			v.Server.Name,
			err,
		)
	case !lists:
		return v.refused("its version of the protocol has no list of tools")
	}
	v.mu.Lock()
	same := len(list) == len(v.taken) && (len(list) == 0 || list[0] == v.taken[0])
	v.taken = list
	v.mu.Unlock()
	if same && v.Known() {
		return nil
	}
	return v.took(list)
}

// refused handles a refused list: a server without a list has nothing that could change; one with
// pinned tools hides them.
func (v *View) refused(why string) error {
	known, err := v.box.pins.known(v.Server.Name)
	if err == nil && len(known) > 0 {
		err = fmt.Errorf(
			"the MCP server %s did not list its tools, as it has before: %s",
			v.Server.Name,
			display.Plain(why),
		)
	}
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.whole, v.silent = true, true
	return nil
}

// complete accepts a whole list as the server's current one, and pins it if the server is new. It
// ignores a list that is older than the last one.
func (v *View) complete(all partialList) (err error) {
	v.mu.Lock()
	if all.at < v.saidAt {
		v.mu.Unlock()
		return nil
	}
	v.said, v.saidAt, v.silent = maps.Clone(all.tools), all.at, false // it is modified by the next page
	v.mu.Unlock()
	if v.Pins() { // before calls are judged with it
		var known map[string]string
		if known, err = v.box.pins.first(v.Server.Name, all.tools); err == nil && known != nil {
			v.warnOf(known, all.tools)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.whole = all.at == v.at
	return err
}

// took accepts a list of tools from another connection.
func (v *View) took(list []*listedTool) error {
	v.mu.Lock()
	all := partialList{tools: map[string]string{}, at: v.at}
	v.mu.Unlock()
	for _, l := range list {
		all.tools[l.spec.Name] = definition.Canonical(l.raw)
	}
	return v.complete(all)
}

// Shown returns the page of the list for the client that asked for it with the cursor: without
// tools that are not offered, without new tools of a known server, and with malformed ones
// repaired or left out (definition.Fit). A changed tool has its old description. If there is nothing to
// change it returns result itself.
func (v *View) Shown(cursor string, result json.RawMessage) json.RawMessage {
	return v.shown(cursor, result, v.Changes())
}

// shown is Shown for a page that was requested after at changes of the list.
func (v *View) shown(cursor string, result json.RawMessage, at int) json.RawMessage {
	items, next, err := pageOf(result, proto.MethodListTools, "tools")
	if err != nil {
		v.Log("warn", err.Error())
		return json.RawMessage(`{"tools":[]}`) // a client might still find tools in it
	}
	pinned := v.pinned()
	page := v.judged(items, v.earlier(cursor), pinned)
	v.gather(cursor, next, page.tools, at)
	var changes []wire.Member
	if !page.same || items == nil {
		list := append(make([]byte, 0, len(result)), '[')
		for i, tool := range page.shown {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, tool...)
		}
		changes = append(changes, wire.Set("tools", append(list, ']')))
	}
	if raw, ok := member(result, "nextCursor"); ok && !jsonscan.IsString(raw) {
		changes = append(changes, wire.Set("nextCursor", nil))
	}
	if changes == nil {
		return result
	}
	return wire.Edit(result, changes...)
}

// member returns a member of an object.
func member(object json.RawMessage, name string) (json.RawMessage, bool) {
	for key, value := range wire.Members(object) {
		if string(key) == name {
			return value, true
		}
	}
	return nil, false
}

// errTwice is the reason for leaving out the second tool of a name.
func errTwice(name string) error { return fmt.Errorf("there are two of the name %q", name) }

// leftOut gives the reason why a tool is missing from a list.
func leftOut(err error) string { return "a tool is left out: " + display.Plain(err.Error()) }

// earlier returns the names on the pages before the one with the cursor.
func (v *View) earlier(cursor string) map[string]bool {
	names := map[string]bool{}
	v.mu.Lock()
	defer v.mu.Unlock()
	if cursor != "" && v.pages.tools != nil && v.pages.next == cursor {
		for name := range v.pages.tools {
			names[name] = true
		}
	}
	return names
}

// gather adds a page of a client's list, which was requested after at changes, to the earlier ones.
func (v *View) gather(cursor, next string, page map[string]string, at int) {
	v.mu.Lock()
	if cursor == "" {
		v.pages = partialList{tools: map[string]string{}, at: at}
	}
	if at >= v.saidAt {
		maps.Copy(v.said, page) // the last description counts
	}
	follows := v.pages.tools != nil && v.pages.next == cursor
	if !follows {
		v.mu.Unlock()
		return
	}
	maps.Copy(v.pages.tools, page)
	v.pages.next = next
	all := v.pages
	if next == "" {
		v.pages = partialList{}
	}
	v.mu.Unlock()
	if next != "" {
		return
	}
	if err := v.complete(all); err != nil {
		v.Log("error", err.Error())
	}
}

// Call is a client's call of a tool.
type Call struct {
	Tool   string
	Params json.RawMessage // params of tools/call
	Args   json.RawMessage // the tool's arguments in them
	Offers Offers          // the kinds of requests that the client accepts
	Modern bool            // it is of 2026-07-28: the client repeats it with its user's answer
	Asked  bool            // its user was asked about it before
}

// Ruling describes how to proceed with a call that is not refused.
type Ruling struct {
	Tool    string          // of the call
	Params  json.RawMessage // params for the call
	Resumed bool            // Params are those of an earlier call, which the user has allowed now
	Reply   json.RawMessage // the client's response instead of a result; nil: none
	Form    json.RawMessage // for asking the client's user first (Decided); nil: nothing to ask

	ask *AskFirst // for Form
}

// Rule judges a call: a tool that the server's lists, a rule or the pins exclude is refused. A
// call of 2026-07-28 with its user's answer gets the params that the user was shown, and is
// judged by them.
func (v *View) Rule(c Call) (r Ruling, err error) {
	r = Ruling{Tool: c.Tool, Params: c.Params}
	if c.Modern && v.check != nil && bytes.Contains(c.Params, []byte(ourMark())) {
		kept, err := v.resumed(c)
		if err != nil {
			return r, err
		}
		if kept != nil {
			r.Params, r.Resumed, c.Args = kept.params, true, kept.args
		}
	}
	ask, err := v.judge(c.Tool, c.Args)
	if err != nil || ask == nil || r.Resumed || c.Asked {
		return r, err
	}
	switch {
	case !c.Offers.forms():
		err = v.refuse(c.Tool, ask)
	case c.Modern:
		r.Reply, err = v.consents.park(v.Server.Name, c, ask)
	default:
		r.ask, r.Form = ask, consentForm(v.Server.Name, c, ask)
	}
	return r, err
}

// Decided returns nil if the user has allowed the call of a ruling; reply is the user's answer to
// its form, and err the reason if there is none.
func (v *View) Decided(r Ruling, reply json.RawMessage, err error) error {
	if err := r.ask.judged(reply, err); err != nil {
		return v.refuse(r.Tool, err)
	}
	return nil
}

// judge refuses a call of a tool that the server's lists or a rule exclude, or that differs from
// its pin. ask is set if a person must be asked.
func (v *View) judge(tool string, args json.RawMessage) (ask *AskFirst, err error) {
	if !v.Server.offers(tool) {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "there is no tool %.100q", tool)
	}
	if v.check != nil {
		if err := v.check(v.Server.Name, tool, args); err != nil {
			var ok bool
			if ask, ok = errors.AsType[*AskFirst](err); !ok {
				return nil, v.refuse(tool, err)
			}
		}
	}
	if v.Pins() {
		if err := v.unchanged(tool); err != nil {
			return nil, err
		}
	}
	return ask, nil
}

func (v *View) refuse(tool string, err error) error {
	v.Log("warn", fmt.Sprintf("a call of %.100q was refused: %v", tool, err))
	return jrpc2.Errorf(jrpc2.InvalidRequest, "%v", err)
}

// unchanged refuses a tool that differs from its pin. A tool that the server does not list now is
// left to the server to refuse.
func (v *View) unchanged(tool string) error {
	v.mu.Lock()
	is, said := v.said[tool]
	silent := v.silent
	v.mu.Unlock()
	known, err := v.box.pins.known(v.Server.Name)
	if err != nil {
		return jrpc2.Errorf(jrpc2.InternalError, "%v", err)
	}
	was, pinned := known[tool]
	switch {
	case pinned && (!said || was == is), silent && len(known) == 0:
		return nil
	case !said && !pinned:
		return jrpc2.Errorf(jrpc2.InvalidParams, "there is no tool %.100q", tool)
	}
	change := v.change(tool, was, is, pinned)
	v.warnOf(known, map[string]string{tool: is})
	return jrpc2.Errorf(jrpc2.InvalidRequest, "%s", change)
}

// change describes the change of a tool in one line, with advice. It contains no words of the
// server, because a model reads it.
func (v *View) change(tool, was, is string, pinned bool) string {
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
	}
	return fmt.Sprintf(
		"the tool %s of the MCP server %s %s, and may do something else now; a person can look at it and agree to it: dragoman mcp-servers approve %s %s",
		display.Word(tool),
		v.Server.Name,
		what,
		display.Word(v.Server.Name),
		display.Word(tool),
	)
}
