package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp/folders"
	"dragoman/core"
	"dragoman/core/board"
)

// summaries lists the sessions within the client's roots that work in a directory, or all of
// them. A delegated task is a part of the session of its agent, and not listed. With core.ErrIncomplete some are missing.
func (c *client) summaries(ctx context.Context, req clientRequest, cwd string) ([]core.Summary, error) {
	may, err := c.reach(ctx, req)
	if err != nil {
		return nil, err
	}
	var all []core.Summary
	var lacks error
	for sum, err := range c.server.opts.Gateway.ListNow(ctx, c.host.of.Principal) {
		if errors.Is(err, core.ErrIncomplete) {
			lacks = err
			continue
		}
		if err != nil {
			return nil, err
		}
		if sum.Parent == "" && !sum.Archived && (cwd == "" || folders.Same(cwd, sum.Cwd)) && may.Covers(sum.Cwd, sum.Roots) {
			all = append(all, sum)
		}
	}
	return all, lacks
}

func (h *host) readSessions(ctx context.Context, req *mcp.ReadResourceRequest) (any, error) {
	c := h.client(req)
	all, err := c.summaries(ctx, req, "")
	if err != nil && !errors.Is(err, core.ErrIncomplete) {
		return nil, err
	}
	const most = 1000
	out := c.page(all, nil, most)
	out.Incomplete = err != nil
	return out, nil
}

// serverInfo describes an MCP server in dragoman://servers.
type serverInfo struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Why    string `json:"why,omitempty"`
	Tools  int    `json:"tools"`
}

// toolInfo describes a tool in dragoman://tools.
type toolInfo struct {
	Server      string          `json:"server"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema,omitempty"`
	ReadOnly    bool            `json:"read_only"`
}

// servers lists the MCP servers on the board. The profile is made first, because it puts its own
// there.
func (h *host) servers(ctx context.Context) ([]board.Server, error) {
	if _, err := h.server.opts.Gateway.Profile(ctx, h.server.opts.Profiles, nil); err != nil {
		return nil, err
	}
	var list []board.Server
	posted, _ := h.server.opts.Board.Now()
	for _, p := range posted {
		if item, ok := p.Item.(board.Server); ok && (p.Topic.Principal == "" || p.Topic.Principal == h.of.Principal) {
			list = append(list, item)
		}
	}
	return list, nil
}

func (h *host) readServers(ctx context.Context, _ *mcp.ReadResourceRequest) (any, error) {
	servers, err := h.servers(ctx)
	list := []serverInfo{}
	for _, s := range servers {
		list = append(list, serverInfo{s.Name, s.Status, s.Why, len(s.Tools)})
	}
	return map[string]any{"servers": list}, err
}

func (h *host) readTools(ctx context.Context, _ *mcp.ReadResourceRequest) (any, error) {
	servers, err := h.servers(ctx)
	list := []toolInfo{}
	for _, s := range servers {
		for _, t := range s.Tools {
			list = append(list, toolInfo{s.Name, t.Name, t.Description, t.Schema, t.ReadOnly})
		}
	}
	return map[string]any{"tools": list}, err
}

const (
	// notifyEvery is the minimum time between two notifications that a resource, or the list of
	// resources, has changed.
	notifyEvery = time.Second
	// notifyAfter is the time that a change waits for others, to announce them together.
	notifyAfter = 100 * time.Millisecond
	// maxTitles limits the sessions whose titles are remembered.
	maxTitles = 4096
)

// pause blocks for a time; false: ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// start starts to follow the board.
func (h *host) start() {
	h.wg.Go(func() {
		ctx, stop := until(context.Background(), h.gone, errGone)
		defer stop()
		h.follow(ctx)
	})
}

// follow notifies clients of changes on the board: sessions that come, go or get a title change
// the list of resources; every event of a session changes dragoman://sessions.
func (h *host) follow(ctx context.Context) {
	titles := map[string]string{} // by session; after a clear, an unchanged list may be announced
	var rev uint64
	for {
		if _, _, err := h.server.opts.Board.Next(ctx, rev); err != nil || !pause(ctx, notifyAfter) {
			return
		}
		posted, now, err := h.server.opts.Board.Next(ctx, rev)
		if err != nil {
			return
		}
		rev = now
		var listed, sessions, servers bool
		for _, p := range posted {
			if p.Topic.Principal != "" && p.Topic.Principal != h.of.Principal {
				continue
			}
			switch item := p.Item.(type) {
			case board.Session:
				title, known := titles[p.Topic.Name]
				listed = listed || !known || title != item.Summary.Title
				if len(titles) >= maxTitles {
					clear(titles)
				}
				titles[p.Topic.Name] = item.Summary.Title
				sessions = true
			case board.Server:
				servers = true
			case board.Gone:
				if _, known := titles[p.Topic.Name]; p.Topic.Kind == "session" {
					listed, sessions = listed || known, true
					delete(titles, p.Topic.Name)
				}
			case board.Present:
				h.updated(ctx, sessionURI+escaped(p.Topic.Name))
			case board.Models, board.Agents, board.Commands, board.Job, board.Account: // not resources of ours
			}
		}
		h.tell(ctx, listed, sessions, servers)
		if !pause(ctx, notifyEvery-notifyAfter) {
			return
		}
	}
}

// tell notifies the clients that asked for the changes.
func (h *host) tell(ctx context.Context, listed, sessions, servers bool) {
	if listed {
		h.listChanged()
	}
	if sessions {
		h.updated(ctx, sessionsURI)
	}
	if servers {
		h.updated(ctx, serversURI)
		h.updated(ctx, toolsURI)
	}
}

// listChanged has the SDK announce a change of the list of resources: it does so when one is
// registered.
func (h *host) listChanged() { h.addResources(h.sdk) }

func (h *host) updated(ctx context.Context, uri string) {
	// Its only error means that a client has left.
	_ = h.sdk.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
}
