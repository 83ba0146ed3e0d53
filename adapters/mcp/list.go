package mcp

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
	"dragoman/core/company"
)

type listArgs struct {
	Cwd    string `json:"cwd"`
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

type listResult struct {
	Sessions []listedSession `json:"sessions"`
	Next     string          `json:"next_cursor,omitempty"`
	// Incomplete: some are missing, because the list is being rebuilt.
	Incomplete bool `json:"incomplete,omitempty"`
}

type listedSession struct {
	Session core.SessionID `json:"session_id"`
	Title   string         `json:"title,omitempty"`
	Cwd     string         `json:"cwd"`
	Status  string         `json:"status"`
	Updated time.Time      `json:"updated_at,omitzero"` // zero: an external agent did not say it
	Model   string         `json:"model,omitempty"`
}

const statusIdle = "idle"

// listCursor is the session after which a list continues.
type listCursor struct {
	Updated time.Time      `json:"u"`
	Session core.SessionID `json:"s"`
}

// list is the tool session_list.
func (c *client) list(ctx context.Context, _ *call, req *mcp.CallToolRequest, in listArgs) (*mcp.CallToolResult, any, error) {
	after, err := parseListCursor(in.Cursor)
	if err != nil {
		return refusal("cursor: it is not one that session_list gave out."), nil, nil
	}
	all, err := c.summaries(ctx, req, in.Cwd)
	if err != nil && !errors.Is(err, core.ErrIncomplete) {
		return failed("", err)
	}
	out := c.page(all, after, cmp.Or(in.Limit, 50))
	text := listText(out)
	if out.Incomplete = err != nil; out.Incomplete {
		text += "\n" + line(err.Error(), 200)
	}
	return said(text), out, nil
}

// page cuts a page out of the sessions, the one used last first.
func page(all []core.Summary, after *listCursor, limit int) listResult {
	slices.SortFunc(all, func(a, b core.Summary) int { return compareListed(a, b.Updated, b.ID) })
	out := listResult{Sessions: []listedSession{}}
	for _, s := range all {
		if after != nil && compareListed(s, after.Updated, after.Session) <= 0 {
			continue
		}
		if len(out.Sessions) == limit {
			last := out.Sessions[limit-1]
			out.Next = listCursor{last.Updated, last.Session}.String()
			break
		}
		status := statusIdle
		if s.Running {
			status = statusRunning
		}
		out.Sessions = append(out.Sessions, listedSession{s.ID, s.Title, s.Cwd, status, s.Updated.UTC(), s.Model})
	}
	return out
}

// page returns the page of the list, with the states of the sessions that the client holds.
func (c *client) page(all []core.Summary, after *listCursor, limit int) listResult {
	out := page(all, after, limit)
	for i := range out.Sessions {
		out.Sessions[i].Status = c.status(out.Sessions[i].Session, out.Sessions[i].Status)
	}
	return out
}

func compareListed(s core.Summary, updated time.Time, id core.SessionID) int {
	if c := updated.Compare(s.Updated); c != 0 {
		return c
	}
	return cmp.Compare(s.ID, id)
}

func (c listCursor) String() string {
	b, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseListCursor(s string) (*listCursor, error) {
	if s == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil, err
	}
	c := new(listCursor)
	return c, json.Unmarshal(b, c)
}

// status returns a session's status, which is exact only for sessions that this client holds.
func (c *client) status(id core.SessionID, otherwise string) string {
	c.mu.Lock()
	h := c.held[id]
	c.mu.Unlock()
	if h == nil {
		return otherwise
	}
	return stateStatus(h.a.State())
}

func stateStatus(st core.State) string {
	switch {
	case len(st.Asks) > 0:
		return statusAwaiting
	case st.Turn != "":
		return statusRunning
	}
	return statusIdle
}

func listText(r listResult) string {
	if len(r.Sessions) == 0 {
		return "There are no sessions."
	}
	var b strings.Builder
	for _, s := range r.Sessions {
		b.WriteString("- " + string(s.Session) + " (" + s.Status + ", " + s.Cwd)
		if !s.Updated.IsZero() {
			b.WriteString(", " + s.Updated.Format(time.RFC3339))
		}
		b.WriteString("): " + cmp.Or(line(s.Title, 100), "untitled") + "\n")
	}
	if r.Next != "" {
		b.WriteString("There are more: pass next_cursor as cursor.\n")
	}
	return b.String()
}

type closeArgs struct {
	Session core.SessionID `json:"session_id"`
	Delete  bool           `json:"delete"`
}

type closeResult struct {
	Session core.SessionID `json:"session_id"`
	Deleted bool           `json:"deleted"`
}

// closeSession is the tool session_close. A turn of other clients continues, unless the session
// is deleted; if no turn runs, the session's background work ends with it.
func (c *client) closeSession(ctx context.Context, _ *call, req *mcp.CallToolRequest, in closeArgs) (*mcp.CallToolResult, any, error) {
	h, err := c.open(ctx, req, in.Session)
	if err != nil {
		return failed(in.Session, err)
	}
	if in.Delete && !h.mine() {
		return refusal(notItsSession, "delete it"), nil, nil
	}
	all := false
	if in.Delete {
		if all, err = c.agreed(ctx, req, h); err != nil {
			return failed(h.id, err)
		}
	}
	if turn := h.a.State().Turn; turn != "" && h.from(turn) != (core.Pos{}) {
		if err := h.a.Cancel(ctx, turn, core.ErrCanceled); err != nil {
			return failed(h.id, err)
		}
		if err := h.gone(ctx, turn); err != nil {
			return failed(h.id, err)
		}
	}
	out := closeResult{Session: h.id, Deleted: in.Delete}
	if !in.Delete {
		c.drop(h)
		h.a.Leave()
		return said("The session was closed. agent_prompt with its session_id continues it."), out, nil
	}
	if err := c.discard(ctx, h, all); err != nil {
		return failed(h.id, err)
	}
	return said("The session was deleted."), out, nil
}

// agreed reports whether the client's user has agreed to delete a session to which others are attached.
func (c *client) agreed(ctx context.Context, req *mcp.CallToolRequest, h *heldSession) (bool, error) {
	err := c.server.opts.Gateway.Delete(ctx, c.host.of.Principal, h.id, core.Deletion{By: h.a.Client().ID, Check: true})
	attended, ok := errors.AsType[*core.AttendedError](err)
	switch {
	case !ok:
		return false, err
	case askerOf(req) != asksNow:
		return false, company.Kept(attended)
	}
	a := company.Deletion(attended)
	asking, stop := context.WithTimeoutCause(ctx, c.server.asking(), errUnasked)
	defer stop()
	var answer mcp.ElicitResult
	_, err = req.Session.Elicit(context.WithValue(asking, rawAnswer{}, &answer), elicitation(req.ProtocolVersion(), false, h.meta, a, core.Call{}))
	if err != nil || !company.Deletes(reply(a, &answer)) {
		return false, errors.Join(errors.New("the session was kept"), err)
	}
	return true, nil
}

// discard releases a session and deletes it.
func (c *client) discard(ctx context.Context, h *heldSession, all bool) error {
	c.drop(h)
	h.a.Leave()
	return c.server.opts.Gateway.Delete(context.WithoutCancel(ctx), c.host.of.Principal, h.id, core.Deletion{All: all})
}
