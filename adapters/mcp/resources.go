package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
	"dragoman/core/cursor"
)

// The resources. Ids in a URI are percent-encoded, because clients of other dialects choose them.
const (
	sessionsURI = "dragoman://sessions"
	serversURI  = "dragoman://servers"
	toolsURI    = "dragoman://tools"
	sessionURI  = "dragoman://session/"

	mimeJSON     = "application/json"
	mimeMarkdown = "text/markdown"
	mimeDiff     = "text/x-diff"
)

// templates are the kinds of resources that a session has.
var templates = []*mcp.ResourceTemplate{
	{Name: "session", Title: "A session", URITemplate: sessionURI + "{id}", MIMEType: mimeJSON, Description: "What a session is: its title, directory, model and state."},
	{Name: "transcript", Title: "What was said in a session", URITemplate: sessionURI + "{id}/transcript{?after}", MIMEType: mimeMarkdown, Description: "A page of a session's transcript, for reading; the end says where the next page begins."},
	{Name: "transcript.json", Title: "What was said in a session, as data", URITemplate: sessionURI + "{id}/transcript.json{?after}", MIMEType: mimeJSON, Description: "The same page as session_get returns it."},
	{Name: "diff", Title: "What a turn changed", URITemplate: sessionURI + "{id}/turn/{turn}/diff", MIMEType: mimeDiff, Description: "The changes to files that a turn's tools made, as a unified diff."},
}

// addResources registers the resources that do not depend on sessions.
func (h *host) addResources(s *mcp.Server) {
	for _, r := range []struct {
		mcp.Resource
		read func(ctx context.Context, req *mcp.ReadResourceRequest) (any, error)
	}{
		{mcp.Resource{Name: "sessions", Title: "Sessions", URI: sessionsURI, MIMEType: mimeJSON, Description: "All sessions, the one used last first."}, h.readSessions},
		{mcp.Resource{Name: "servers", Title: "Tool servers", URI: serversURI, MIMEType: mimeJSON, Description: "The servers whose tools the agent has, and their state."}, h.readServers},
		{mcp.Resource{Name: "tools", Title: "The agent's tools", URI: toolsURI, MIMEType: mimeJSON, Description: "The tools that the agent has."}, h.readTools},
	} {
		s.AddResource(&r.Resource, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			v, err := r.read(ctx, req)
			if err != nil {
				return nil, err
			}
			return jsonContents(req.Params.URI, v)
		})
	}
	for _, t := range templates {
		s.AddResourceTemplate(t, h.readSession)
	}
}

// contents returns the content of a resource.
func contents(uri, mime, text string) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mime, Text: text}}}, nil
}

func jsonContents(uri string, v any) (*mcp.ReadResourceResult, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return contents(uri, mimeJSON, string(b))
}

// resourcePage is the number of sessions on a page of resources/list, and sessionCursor begins
// the cursor of the pages after the first.
const (
	resourcePage  = 100
	sessionCursor = "sessions:"
)

// listResources appends the sessions' transcripts to the last page of registered resources.
func (h *host) listResources(ctx context.Context, req *mcp.ListResourcesRequest, next mcp.MethodHandler) (mcp.Result, error) {
	c := h.client(req)
	c.mu.Lock()
	c.listed = true
	c.mu.Unlock()
	res := &mcp.ListResourcesResult{Cacheable: mcp.Cacheable{CacheScope: "private"}}
	cursor := ""
	if req.Params != nil {
		cursor = req.Params.Cursor
	}
	after, ours := strings.CutPrefix(cursor, sessionCursor)
	if !ours {
		r, err := next(ctx, proto.MethodListResources, req)
		list, ok := r.(*mcp.ListResourcesResult)
		if err != nil || !ok || list.NextCursor != "" {
			return r, err
		}
		res = list
	}
	from, err := parseListCursor(after)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor is not one that resources/list gave out"}
	}
	all, err := c.summaries(ctx, req, "")
	if _, none := errors.AsType[errText](err); err != nil && !none && !errors.Is(err, core.ErrIncomplete) {
		return nil, err
	}
	p := page(all, from, resourcePage)
	for _, s := range p.Sessions {
		res.Resources = append(res.Resources, transcriptResource(s))
	}
	if p.Next != "" {
		res.NextCursor = sessionCursor + p.Next
	}
	return res, nil
}

func transcriptResource(s listedSession) *mcp.Resource {
	return &mcp.Resource{
		Name: cmp.Or(line(s.Title, 100), string(s.Session)), URI: transcriptURI(s.Session), MIMEType: mimeMarkdown,
		Description: "What was said in session " + string(s.Session) + ", in " + s.Cwd,
	}
}

func transcriptURI(id core.SessionID) string { return sessionURI + escaped(string(id)) + "/transcript" }

// escaped returns an id as a part of a URI: nothing but unreserved characters and percent signs.
func escaped(id string) string { return strings.ReplaceAll(url.QueryEscape(id), "+", "%20") }

// resourcePlace is the resource that a session's URI names.
type resourcePlace struct {
	session core.SessionID
	what    string // "", transcript, transcript.json or diff
	turn    core.TurnID
	after   string
}

func parseResource(uri string) (p resourcePlace, ok bool) {
	rest, ok := strings.CutPrefix(uri, sessionURI)
	if !ok {
		return p, false
	}
	rest, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return p, false
	}
	p.after = values.Get("after")
	parts := strings.Split(rest, "/")
	for i := range parts {
		if parts[i], err = url.PathUnescape(parts[i]); err != nil {
			return p, false
		}
	}
	p.session = core.SessionID(parts[0])
	switch {
	case p.session == "":
		return p, false
	case len(parts) == 1:
		return p, true
	case len(parts) == 2 && (parts[1] == "transcript" || parts[1] == "transcript.json"):
		p.what = parts[1]
		return p, true
	case len(parts) == 4 && parts[1] == "turn" && parts[3] == "diff":
		p.what, p.turn = "diff", core.TurnID(parts[2])
		return p, true
	}
	return p, false
}

// readSession reads the resource that a session's URI names.
func (h *host) readSession(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	p, ok := parseResource(uri)
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	after, err := cursor.Parse(p.after)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("after: %v", err)}
	}
	c := h.client(req)
	s, err := c.open(ctx, req, p.session)
	if errors.Is(err, core.ErrNotFound) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	switch p.what {
	case "diff":
		text, err := s.diff(ctx, p.turn)
		if errors.Is(err, errNoTurn) {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		if err != nil {
			return nil, err
		}
		return contents(uri, mimeDiff, cmp.Or(text, "This turn has changed no files.\n"))
	case "":
		return jsonContents(uri, s.about(c.profileOf(ctx, s)))
	}
	const most = 500 // entries of a page
	page, err := s.page(ctx, c.profileOf(ctx, s), after, most)
	if err != nil {
		return nil, err
	}
	if p.what == "transcript.json" {
		return jsonContents(uri, page)
	}
	return contents(uri, mimeMarkdown, page.markdown())
}

// sessionInfo is the content of dragoman://session/{id}.
type sessionInfo struct {
	getHead
	Roots   []string      `json:"roots"`
	Agent   string        `json:"agent,omitempty"`
	Created string        `json:"created_at"`
	Queued  []core.TurnID `json:"queued_turns,omitempty"`
	Usage   *usageResult  `json:"usage,omitempty"`
}

func (h *heldSession) about(prof *core.Profile) sessionInfo {
	st := h.a.State()
	a := sessionInfo{
		getHead: h.head(prof), Roots: st.Meta.Roots, Agent: st.Settings.Agent,
		Created: st.Meta.Created.UTC().Format("2006-01-02T15:04:05Z07:00"), Queued: st.Queued,
	}
	if u := st.Usage; u != (core.Usage{}) {
		a.Usage = usageOf(u, "")
	}
	return a
}

// maxDiff limits the changes of a turn in a resource, in bytes.
const maxDiff = 4 << 20

// diff returns the changes of files by a turn's successful calls.
func (h *heldSession) diff(ctx context.Context, id core.TurnID) (string, error) {
	var b strings.Builder
	t := turn{id: id}
	for rec, err := range h.a.Records(ctx, h.from(id), h.a.Head()) {
		if err != nil {
			return "", err
		}
		t.apply(rec)
		if e, ok := rec.Event.(core.CallChanged); ok && t.begun && e.Call.State == core.Succeeded {
			for _, block := range e.Call.Content {
				if d, ok := block.(core.Diff); ok {
					appendPatch(&b, h.meta.Cwd, d)
				}
			}
		}
		if t.ended {
			break
		}
		if b.Len() > maxDiff {
			b.WriteString("\n[… there is more]\n")
			break
		}
	}
	if !t.begun && !t.ended {
		return "", errNoTurn
	}
	return b.String(), nil
}

// appendPatch appends a change with the header that patch programs look for.
func appendPatch(b *strings.Builder, cwd string, d core.Diff) {
	if d.Patch == "" {
		return
	}
	if !strings.HasPrefix(d.Patch, "--- ") && d.From == "" {
		name := strings.TrimPrefix(filepath.ToSlash(d.Path), "/")
		if rel, err := filepath.Rel(cwd, d.Path); err == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
		was := "a/" + name
		if d.Created {
			was = "/dev/null"
		}
		fmt.Fprintf(b, "--- %s\n+++ b/%s\n", was, name)
	}
	b.WriteString(strings.TrimSuffix(d.Patch, "\n") + "\n")
}
