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
	"time"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream/definition"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/glob"
	"dragoman/core/jsonscan"
)

const (
	// MaxName limits the name of a tool at a server, in bytes; a tool with a longer one is left
	// out.
	MaxName = definition.MaxName
	// maxDescription limits the part of a description that is passed on, in bytes.
	maxDescription = 16 << 10
	// showEvery is the minimum interval of the visible progress of a call.
	showEvery = 200 * time.Millisecond
)

// listedTool is a tool in a server's list.
type listedTool struct {
	spec core.Spec
	raw  json.RawMessage // the server's own words
	// change describes the difference from the pin; "": none.
	change string
}

// tools lists the server's tools. Unusable ones are left out, and logged.
func (u *upstream) tools(ctx context.Context, p *Peer) ([]*listedTool, error) {
	if p.Caps.Tools == nil {
		return nil, nil
	}
	items, err := p.List(ctx, proto.MethodListTools, "tools")
	var refused *jrpc2.Error
	if !p.Lists() && errors.As(err, &refused) {
		return nil, nil // it may only know tools/call
	}
	if err != nil {
		return nil, err
	}
	var list []*listedTool
	taken := map[string]bool{}
	for _, item := range items {
		l, err := parseTool(u.server.Name, item)
		switch {
		case err != nil:
			u.box.opts.Log(u.server.Name, "warn", leftOut(err))
			continue
		case taken[l.spec.Name]:
			u.box.opts.Log(u.server.Name, "warn", leftOut(errTwice(l.spec.Name)))
			continue
		case !u.server.offers(l.spec.Name):
			continue
		}
		taken[l.spec.Name] = true
		list = append(list, l)
	}
	if u.server.brought {
		return list, nil // a person agreed to the program, for as long as the client stays
	}
	return list, u.box.pins.look(u.server.Name, list)
}

// parseTool reads a tool of a list, repaired.
func parseTool(server string, item json.RawMessage) (*listedTool, error) {
	t, err := definition.Read(item)
	if err != nil {
		return nil, err
	}
	if t.Title == "" {
		t.Title = t.Annotations.Title
	}
	t.Schema = seenSchema(t.Schema)
	if len(t.Description) > maxDescription {
		t.Description = display.Cut(t.Description, maxDescription) + " …"
	}
	return &listedTool{raw: item, spec: core.Spec{
		Server:      server,
		Name:        t.Name,
		Title:       display.Plain(t.Title),
		Description: display.Seen(t.Description),
		Schema:      t.Schema,
		Kind:        core.KindOther,
		ReadOnly:    t.Annotations.ReadOnly,
		Idempotent:  t.Annotations.Idempotent || t.Annotations.ReadOnly,
	}}, nil
}

// seenSchema returns a schema with visible forms of its texts. One without hidden characters
// stays unchanged.
func seenSchema(raw json.RawMessage) json.RawMessage {
	if isSeen(raw) {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	changed := false
	clean := func(s string) string {
		out := display.Seen(s)
		changed = changed || out != s
		return out
	}
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			return clean(v)
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for _, k := range slices.Collect(maps.Keys(v)) {
				one := walk(v[k])
				delete(v, k)
				v[clean(k)] = one
			}
		}
		return v
	}
	v = walk(v)
	out, err := json.Marshal(v)
	if err != nil || !changed {
		return raw
	}
	return out
}

// isSeen reports whether all characters in the texts of a JSON value are visible. It takes only
// ASCII for visible.
func isSeen(raw json.RawMessage) bool {
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\':
			if i++; i == len(raw) || strings.IndexByte(`"\/nt`, raw[i]) < 0 {
				return false
			}
		case c < ' ' && !jsonscan.IsSpace(c), c > '~':
			return false
		}
	}
	return true
}

// offers reports whether the configuration offers a tool. A list with an invalid pattern offers
// none.
func (s Server) offers(tool string) bool {
	denied, err := glob.AnyTextFolded(s.Deny, tool)
	if err != nil || denied {
		return false
	}
	allowed, err := glob.AnyText(s.Allow, tool)
	return err == nil && (allowed || len(s.Allow) == 0)
}

// tool is a server's tool in one session.
type tool struct {
	up *upstream
	*listedTool
}

var _ core.Tool = (*tool)(nil)

// Spec implements core.Tool.
func (t *tool) Spec() core.Spec { return t.spec }

// Preview implements core.Tool.
func (t *tool) Preview(_ context.Context, inv core.Invocation) (core.Preview, error) {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(inv.Args, &args); err != nil {
		return core.Preview{}, errors.New("the arguments are no JSON object")
	}
	text := display.Args(inv.Args, maxShownArgs)
	title := display.Visible(t.spec.Server) + ": " + display.Visible(t.spec.Name)
	if text != "" {
		title += " " + display.Args(inv.Args, maxTitleArgs)
	}
	if own := display.Visible(t.spec.Title); own != "" && own != t.spec.Name {
		title += " (" + display.Clipped(own, maxTitleArgs) + ")"
	}
	pv := core.Preview{Title: title, Kind: t.spec.Kind}
	if _, left := display.Clip(text, maxTitleArgs); left > 0 { // otherwise all of it is in the title
		pv.Content = []core.Block{core.Text{Text: text}}
	}
	return pv, nil
}

// Limits of a call's arguments in characters, for the user who decides about it.
const (
	maxTitleArgs = 160
	maxShownArgs = 8000
)

// Run implements core.Tool. A call whose server ends in the middle is repeated once if the tool
// is declared harmless to repeat, and otherwise not.
func (t *tool) Run(ctx context.Context, inv core.Invocation) (core.Result, error) {
	p, err := t.up.Acquire(ctx, false)
	if err != nil {
		return core.Result{}, err
	}
	t = t.current()
	if ok, err := t.changed(ctx); err != nil || !ok {
		return core.Result{
			Failed: true,
			Blocks: []core.Block{
				core.Text{
					Text: "the tool has changed since it was first used, and the user has not agreed to its new form",
				},
			},
		}, err
	}
	res, err := t.call(ctx, p, inv)
	if !errors.Is(err, wire.ErrClosed) {
		return res, err
	}
	<-p.Done
	why := t.up.endOf(p)
	if !t.spec.Idempotent && !errors.Is(err, errUnsent) {
		return core.Result{}, EndedError(t.spec.Server, false, why)
	}
	if p, err = t.up.Acquire(ctx, true); err != nil {
		return core.Result{}, err
	}
	if res, err = t.call(ctx, p, inv); errors.Is(err, wire.ErrClosed) {
		err = fmt.Errorf("the MCP server %s ended in the middle of the call, twice: %s", t.spec.Server, why)
	}
	return res, err
}

// current returns the tool as the running server lists it, which may not be as the model knows it.
func (t *tool) current() *tool {
	for _, l := range t.up.known() {
		if l.spec.Name == t.spec.Name {
			return &tool{t.up, l}
		}
	}
	return t
}

// errUnsent means that the connection had ended before the call was sent.
var errUnsent = errors.New("it was not sent")

// call makes one call. wire.ErrClosed: the connection ended before the answer.
func (t *tool) call(ctx context.Context, p *Peer, inv core.Invocation) (core.Result, error) {
	defer t.up.calling(p)()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sign := make(chan Progress, 1)
	token, forget := p.Track(func(n Progress) {
		select { // only the newest one counts
		case <-sign:
		default:
		}
		sign <- n
	})
	defer forget()
	members := []wire.Member{wire.Set("name", wire.JSON(t.spec.Name)), wire.Set("arguments", inv.Args)}
	res, err := t.up.rounds(ctx, p, func(more ...wire.Member) (json.RawMessage, error) {
		return t.await(ctx, p, token, append(members[:2:2], more...), sign, inv)
	})
	if err != nil {
		return t.refused(err)
	}
	return parseResult(res, t.up.host.Spills())
}

// refused returns the result of a failed call: an error in the server's answer is for the model
// to read.
func (t *tool) refused(err error) (core.Result, error) {
	var e *jrpc2.Error
	if !errors.As(err, &e) {
		return core.Result{}, err
	}
	if why, ok := streamable.Unreached(err); ok {
		return core.Result{}, fmt.Errorf("the MCP server %s could not be reached: %s", t.spec.Server, why)
	}
	if pages := requiredPages(err); pages != nil {
		return core.Result{Failed: true, Blocks: []core.Block{core.Text{Text: fmt.Sprintf(
			"the MCP server %s made no call: the user has to open a page first, and has not done so or has to finish there: %s",
			t.spec.Server, toOpen(pages),
		)}}}, nil
	}
	text := fmt.Sprintf(
		"the MCP server %s refused the call: %s (%d)",
		t.spec.Server,
		display.Plain(e.Message),
		e.Code,
	)
	if len(e.Data) > 0 {
		text += " " + string(e.Data[:min(len(e.Data), 2000)])
	}
	return core.Result{Blocks: []core.Block{core.Text{Text: text}}, Failed: true}, nil
}

// await sends the call and waits for its answer; meanwhile it shows the progress.
func (t *tool) await(
	ctx context.Context,
	p *Peer,
	token json.RawMessage,
	members []wire.Member,
	sign <-chan Progress,
	inv core.Invocation,
) (json.RawMessage, error) {
	type answer struct {
		result json.RawMessage
		err    error
	}
	answers := make(chan answer, 1)
	asked, err := p.Conn.Start(
		proto.MethodCallTool,
		p.With(token, members...),
		func(r json.RawMessage, err error) { answers <- answer{r, err} },
	)
	if err != nil {
		return nil, errors.Join(err, errUnsent)
	}
	limit := t.up.server.CallTimeout
	silent := make(silentCall, 1)
	t.up.silence.Begin(silent, limit)
	defer t.up.silence.End(silent)
	shown := sign
	var pause <-chan time.Time
	for {
		select {
		case a := <-answers:
			select { // the last one came before the answer
			case n := <-sign:
				n.show(inv)
			default:
			}
			return a.result, a.err
		case n := <-shown:
			n.show(inv)
			t.up.silence.Sign(silent)
			shown, pause = nil, time.After(showEvery)
		case <-pause:
			shown = sign
		case <-silent:
			if asked.Withdraw() {
				return nil, fmt.Errorf(
					"the MCP server %s gave no sign of life for %v; the call was given up",
					t.spec.Server,
					limit,
				)
			}
		case <-ctx.Done():
			if asked.Withdraw() {
				return nil, context.Cause(ctx)
			}
			a := <-answers // it came first
			return a.result, a.err
		}
	}
}

// show writes a call's progress to its output.
func (n Progress) show(inv core.Invocation) {
	text := display.Seen(n.Message)
	if n.Total > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%g/%g %s", n.Progress, n.Total, text))
	}
	if text != "" && inv.Output != nil {
		inv.Output(text + "\n")
	}
}

// silentCall gets a value when the server has been silent for too long; it has room for one.
type silentCall chan struct{}

// Silent implements silence.Request.
func (c silentCall) Silent() { c <- struct{}{} }

// calling records a running call, before which the server gets to know the session's folders; the
// function ends that.
func (u *upstream) calling(p *Peer) func() {
	u.tellRoots(p)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.calls--
	}
}

// isCalled reports whether a call is running.
func (u *upstream) isCalled() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls > 0
}
