package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp/folders"
	"dragoman/adapters/mcp/options"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/fileuri"
	"dragoman/core/inference"
)

const (
	// defaultWait is the time that a tool waits for a turn: less than the minute after which many
	// clients abandon a call.
	defaultWait = 50 * time.Second

	// maxHops limits the gateways that a request may have passed (proto.MetaHops): a request over
	// the limit goes in a circle.
	maxHops = 4
)

type promptArgs struct {
	Prompt    string         `json:"prompt"`
	Session   core.SessionID `json:"session_id"`
	Cwd       string         `json:"cwd"`
	Agent     string         `json:"agent"`
	Model     string         `json:"model"`
	Options   map[string]any `json:"options"`
	Mode      string         `json:"mode"`
	Approvals core.Approvals `json:"approvals"`
	Context   []string       `json:"context"`
	Wait      *int           `json:"wait_seconds"`
}

// prompt is the tool agent_prompt: it begins a turn and follows it. If the call is cancelled
// before its answer, the turn is cancelled; a turn that was answered as running continues.
func (c *client) prompt(ctx context.Context, by *call, req *mcp.CallToolRequest, in promptArgs) (*mcp.CallToolResult, any, error) {
	back, err := c.unseal(req.Params)
	if err != nil {
		return nil, nil, err
	}
	if back != nil {
		return c.promptAgain(ctx, by, req, back, in.Wait)
	}
	p, err := c.composed(req, in)
	if err != nil {
		return failed(in.Session, err)
	}
	h, err := c.sessionFor(ctx, req, in)
	if err != nil {
		return failed(in.Session, err)
	}
	wanted, err := c.wanted(ctx, h.meta.Roots, h.a.State().Settings, in)
	if p.Settings = wanted.set; err == nil && !wanted.options.None() {
		p.Settings, err = nil, c.setOptions(ctx, h, wanted)
	}
	if busy, ok := errors.AsType[*core.BusyError](err); ok {
		return h.busy(busy.Turn)
	}
	if err != nil {
		if in.Session == "" {
			err = errors.Join(err, c.discard(ctx, h, true))
		}
		return failed(h.id, err)
	}
	turn, from, err := c.admit(ctx, req, h, by, p)
	if _, broken := errors.AsType[*core.StoreError](err); broken || errors.Is(err, core.ErrClosed) {
		var next *heldSession
		if next, err = c.again(ctx, req, h); err == nil {
			h = next
			turn, from, err = c.admit(ctx, req, h, by, p)
		}
	}
	by.Place.Leave() // the next call finds the turn begun
	if busy, ok := errors.AsType[*core.BusyError](err); ok {
		return h.busy(busy.Turn)
	}
	if err != nil {
		return failed(h.id, err)
	}
	f := c.follower(by, req, h, turn, in.Wait)
	f.task = canBeTask(ctx)
	return f.run(ctx, from)
}

// busy refuses a prompt while another turn runs or waits for a decision.
func (h *heldSession) busy(running core.TurnID) (*mcp.CallToolResult, any, error) {
	r := turnResult{Session: h.id, Turn: running, Status: statusRunning, Next: toolWait}
	r.Text = fmt.Sprintf("The session is busy with turn %q. Wait for it with agent_wait, or stop it with agent_cancel.", running)
	if stateStatus(h.a.State()) == statusAwaiting {
		r.Status = statusAwaiting
		r.Text = fmt.Sprintf("The session is busy with turn %q, which waits for a decision. agent_wait says which; agent_cancel stops the turn.", running)
	}
	return refusal("%s", r.Text), r, nil
}

// promptAgain continues an agent_prompt that was answered with questions. It begins nothing.
func (c *client) promptAgain(
	ctx context.Context,
	by *call,
	req *mcp.CallToolRequest,
	back *resumeState,
	wait *int,
) (*mcp.CallToolResult, any, error) {
	h, err := c.open(ctx, req, back.Session)
	if err != nil {
		return failed(back.Session, err)
	}
	seen, _ := h.dismissals()
	c.resume(h, back, req.Params.InputResponses)
	f := c.follower(by, req, h, back.Turn, wait)
	f.again, f.rounds, f.task, f.seen = true, back.Rounds, canBeTask(ctx), seen
	f.progress.n += back.Progress
	res, out, err := f.run(ctx, h.from(back.Turn))
	if by.Canceled() {
		h.stop(back.Turn)
		err = errors.Join(err, h.a.Cancel(context.WithoutCancel(ctx), back.Turn, core.ErrCanceled))
	}
	return res, out, err
}

func (c *client) follower(by *call, req *mcp.CallToolRequest, h *heldSession, id core.TurnID, wait *int) *follower {
	by.progress.follow()
	f := &follower{
		c: c, req: req, h: h, turn: &turn{id: id}, wait: defaultWait, asker: askerOf(req), lends: lendsOf(req), progress: by.progress,
	}
	if !h.mine() {
		f.asker = asksNobody
	}
	if wait != nil {
		f.wait = time.Duration(*wait) * time.Second
	}
	return f
}

// composed returns the prompt that the arguments describe, without its settings.
func (c *client) composed(req *mcp.CallToolRequest, in promptArgs) (core.Prompt, error) {
	// Trust given to a session in an editor does not extend to other users' models.
	p := core.Prompt{Blocks: []core.Block{core.Text{Text: in.Prompt}}, Approvals: cmp.Or(in.Approvals, core.ApprovalsAsk)}
	if in.Approvals == core.ApprovalsAuto && !c.host.of.Rights.Has(access.Answer) {
		return p, errText(`approvals "auto" answers for the user, and the client's token does not have the right answer. Use "ask".`)
	}
	if in.Approvals == core.ApprovalsAuto && !c.server.opts.Settings().AllowAuto {
		return p, errText(`approvals "auto" is not allowed here: the gateway's configuration must grant it (mcp.allow_auto). Use "ask".`)
	}
	for _, uri := range in.Context {
		link, err := attached(uri)
		if err != nil {
			return p, err
		}
		p.Blocks = append(p.Blocks, link)
	}
	switch hops := req.Params.Meta[proto.MetaHops].(type) {
	case nil:
	case float64:
		if p.Hops = int(hops); hops < 0 || hops > maxHops {
			return p, errText(fmt.Sprintf("The request has passed %v gateways; after %d it is taken to go round in a circle.", hops, maxHops))
		}
	default:
		return p, errText(fmt.Sprintf("_meta[%q] must be a number.", proto.MetaHops))
	}
	return p, nil
}

// attached returns a link for a URI or an absolute path.
func attached(uri string) (core.Link, error) {
	if filepath.IsAbs(uri) {
		return core.Link{URI: fileuri.Of(uri), Name: filepath.Base(uri)}, nil
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme == "" {
		return core.Link{}, errText(fmt.Sprintf("context: %q is neither a URI nor an absolute path.", uri))
	}
	name := path.Base(u.Path)
	if u.Path == "" {
		name = uri
	}
	return core.Link{URI: uri, Name: name}, nil
}

// sessionFor opens the named session, or creates one.
func (c *client) sessionFor(ctx context.Context, req *mcp.CallToolRequest, in promptArgs) (*heldSession, error) {
	if in.Session != "" {
		h, err := c.open(ctx, req, in.Session)
		if err == nil && in.Cwd != "" && !folders.Same(in.Cwd, h.meta.Cwd) {
			err = errText(fmt.Sprintf("The session works in %s; start another one for %s.", h.meta.Cwd, in.Cwd))
		}
		return h, err
	}
	roots, err := c.workspace(ctx, req, in.Cwd)
	if err != nil {
		return nil, err
	}
	if _, err := c.wanted(ctx, roots, core.Settings{}, in); err != nil {
		return nil, err // before creating a session that nobody can use
	}
	s, err := c.server.opts.Gateway.Create(ctx, core.Meta{Principal: c.host.of.Principal, Cwd: roots[0], Roots: roots})
	if err != nil {
		return nil, err
	}
	return c.hold(req, s, true), nil
}

// wanted are the choices in the arguments of a prompt.
type wanted struct {
	set     *core.Settings // nil: the session's
	options options.Wanted // of an external agent
}

// wanted returns the choices in the arguments, over those of a session. A mode is an agent by
// another name; the model of an external agent is one of its options. An error in the configuration
// is returned, whatever is chosen.
func (c *client) wanted(ctx context.Context, roots []string, set core.Settings, in promptArgs) (wanted, error) {
	prof, err := c.server.opts.Gateway.Profile(ctx, c.server.opts.Profiles, roots)
	if err != nil {
		return wanted{}, err
	}
	name := cmp.Or(in.Agent, in.Mode)
	if name == "" && in.Model == "" && len(in.Options) == 0 {
		return wanted{}, nil
	}
	set.Agent = cmp.Or(name, set.Agent)
	agent, ok := prof.Agent(set.Agent)
	switch {
	case !ok:
		return wanted{}, errText(fmt.Sprintf("There is no agent %q; there are %s.", set.Agent, names(prof.Agents, func(a core.Agent) string { return a.Name })))
	case agent.External:
		set.Agent = agent.Name
		return wanted{&set, options.Wanted{Model: in.Model, Values: in.Options, Any: c.server.opts.Settings().AllowAuto}}, nil
	case len(in.Options) > 0:
		return wanted{}, errText(fmt.Sprintf("The agent %q has no options; only external agents have.", agent.Name))
	case in.Model != "":
		models := inference.ModelsOf(prof).List
		known := slices.ContainsFunc(models, func(m inference.ModelInfo) bool { return m.ID == in.Model })
		if len(models) > 0 && !known && !strings.Contains(in.Model, "/") {
			return wanted{}, errText(fmt.Sprintf("There is no model %q; there are %s.", in.Model, names(models, func(m inference.ModelInfo) string { return m.ID })))
		}
		set.Model = in.Model
	}
	return wanted{set: &set}, nil
}

// setOptions has the external agent of a session take options before a prompt. If it does not, the
// session keeps its agent. It may wait for long.
func (c *client) setOptions(ctx context.Context, h *heldSession, w wanted) error {
	was := h.a.State()
	changes := was.Turn == "" && was.Settings.Agent != w.set.Agent
	if changes {
		if err := h.a.Set(ctx, *w.set); err != nil {
			return err
		}
	}
	err := options.Set(ctx, c.server.opts.Gateway, h.a, w.options)
	if now := h.a.State().Settings; err != nil && changes && now.Agent == w.set.Agent {
		now.Agent = was.Settings.Agent
		err = errors.Join(err, h.a.Set(context.WithoutCancel(ctx), now))
	}
	return err
}

// names lists names for people.
func names[T any](list []T, name func(T) string) string {
	const most = 20
	var all []string
	for _, v := range list {
		if len(all) == most {
			all = append(all, "…")
			break
		}
		all = append(all, name(v))
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
