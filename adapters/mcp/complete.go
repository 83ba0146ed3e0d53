package mcp

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
	"dragoman/core/inference"
	"dragoman/core/workspace"
)

// maxValues limits the values of one completion (Server utilities, Completion).
const maxValues = 100

// complete completes an argument of a prompt or a part of a resource's URI, according to its
// name.
func (h *host) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	if f := h.server.opts.Complete; f != nil {
		if res, ok := f(req.Params); ok {
			return res, nil
		}
	}
	begin := req.Params.Argument.Value
	var values []string
	var err error
	switch req.Params.Argument.Name {
	case "id", "session", "session_id":
		values, err = h.sessionIDs(ctx, req)
	case "turn", "turn_id":
		values, err = h.turnIDs(ctx, req)
	case "model", "provider", "agent", "mode":
		values, err = h.choices(ctx, req, req.Params.Argument.Name)
	case "cwd", "path", "file", "dir", "directory", "folder":
		return completed(h.paths(ctx, req, begin), begin), nil
	}
	if err != nil {
		return nil, err
	}
	return completed(values, begin), nil
}

// completed returns the values that begin with the typed text.
func completed(values []string, begin string) *mcp.CompleteResult {
	values = slices.DeleteFunc(values, func(v string) bool { return !strings.HasPrefix(strings.ToLower(v), strings.ToLower(begin)) })
	d := mcp.CompletionResultDetails{Total: len(values), HasMore: len(values) > maxValues, Values: values}
	if d.HasMore {
		d.Values = values[:maxValues]
	}
	if d.Values == nil {
		d.Values = []string{}
	}
	return &mcp.CompleteResult{Completion: d}
}

func (h *host) sessionIDs(ctx context.Context, req *mcp.CompleteRequest) (ids []string, err error) {
	all, err := h.client(req).summaries(ctx, req, "")
	if _, none := errors.AsType[errText](err); err != nil && !none && !errors.Is(err, core.ErrIncomplete) {
		return nil, err
	}
	for _, sum := range all {
		ids = append(ids, string(sum.ID))
	}
	return ids, nil
}

// turnIDs lists the turns of the session that the other arguments name, the newest first.
func (h *host) turnIDs(ctx context.Context, req *mcp.CompleteRequest) (ids []string, err error) {
	if req.Params.Context == nil {
		return nil, nil
	}
	id, err := url.PathUnescape(req.Params.Context.Arguments["id"])
	if err != nil || id == "" {
		return nil, nil
	}
	s, err := h.client(req).open(ctx, req, core.SessionID(id))
	if err != nil {
		return nil, nil
	}
	for rec, err := range s.a.Records(ctx, core.Pos{}, s.a.Head()) {
		if err != nil {
			return nil, err
		}
		if e, ok := rec.Event.(core.TurnStarted); ok {
			ids = append(ids, string(e.Turn))
		}
	}
	slices.Reverse(ids)
	return ids, nil
}

func (h *host) choices(ctx context.Context, req *mcp.CompleteRequest, what string) (list []string, err error) {
	roots, err := h.client(req).workspace(ctx, req, "")
	if err != nil {
		roots = nil
	}
	prof, err := h.server.opts.Gateway.Profile(ctx, h.server.opts.Profiles, roots)
	if err != nil {
		return nil, nil // agent_prompt reports the error
	}
	switch what {
	case "model":
		for _, m := range inference.ModelsOf(prof).List {
			list = append(list, m.ID)
		}
		return list, nil
	case "provider":
		for _, m := range inference.ModelsOf(prof).List {
			if !slices.Contains(list, m.Provider) && m.Provider != "" {
				list = append(list, m.Provider)
			}
		}
		return list, nil
	}
	for _, a := range prof.Agents {
		list = append(list, a.Name)
	}
	return list, nil
}

// paths lists the entries of the folder in the typed path, in the spelling of that path. It reads
// only the client's folders, and leaves out entries that a rule forbids to read.
func (h *host) paths(ctx context.Context, req *mcp.CompleteRequest, begin string) (list []string) {
	roots, err := h.client(req).workspace(ctx, req, "")
	if err != nil {
		return nil
	}
	prof, err := h.server.opts.Gateway.Profile(ctx, h.server.opts.Profiles, roots)
	files := workspace.Of(prof).Files
	if err != nil || files == nil {
		return nil // agent_prompt reports the error
	}
	for _, root := range roots {
		rest, absolute := begin, filepath.IsAbs(begin)
		if absolute {
			var ok bool
			if rest, ok = strings.CutPrefix(begin, root); !ok {
				if strings.HasPrefix(root, begin) {
					list = append(list, root)
				}
				continue
			}
			rest = strings.TrimPrefix(rest, string(filepath.Separator))
		}
		dir, name := filepath.Split(filepath.FromSlash(rest))
		if dir != "" && !filepath.IsLocal(dir) {
			continue
		}
		const most = 10 * maxValues
		first := len(list)
		for _, f := range files.List(ctx, roots, filepath.Join(root, dir), name, most) {
			value := dir + filepath.Base(f.Path)
			if absolute {
				value = filepath.Join(root, value)
			}
			if f.Folder {
				value += string(filepath.Separator)
			}
			list = append(list, value)
		}
		slices.Sort(list[first:])
	}
	return list
}
