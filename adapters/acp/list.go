package acp

import (
	"context"
	"encoding/base64"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// page is the number of sessions in one answer.
const page = 100

// listSessions handles session/list: the sessions that contain a conversation, last used first. A
// page begins after the last session of the page before, wherever sessions used in the meantime
// are now: none is listed twice.
func (s *Server) listSessions(ctx context.Context, call *wire.Call, p acp.ListRequest) error {
	after, err := parseCursor(p.Cursor)
	if err != nil {
		return err
	}
	lists, err := parseArchived(p.Archived)
	if err != nil {
		return err
	}
	part := core.Part{After: after}
	if p.Cwd != nil {
		if !filepath.IsAbs(*p.Cwd) {
			return jrpc2.Errorf(jrpc2.InvalidParams, "cwd: must be an absolute path, got %.200q", *p.Cwd)
		}
		cwd := filepath.Clean(*p.Cwd)
		part.Where = func(sum core.Summary) bool { return filepath.Clean(sum.Cwd) == cwd }
	}
	res := acp.ListResponse{Sessions: []acp.SessionInfo{}}
	var last core.Summary
	for sum, err := range s.opts.Gateway.Conversations(ctx, s.opts.Principal, part) {
		if errors.Is(err, core.ErrIncomplete) {
			res.Meta = &acp.ListMeta{}
			res.Meta.Dragoman.Incomplete = true
			continue
		}
		if err != nil {
			return err
		}
		if !lists(sum.Archived) || !part.Follows(sum) {
			continue
		}
		if len(res.Sessions) == page {
			res.NextCursor = cursorOf(last)
			break
		}
		res.Sessions = append(res.Sessions, infoOf(sum))
		last = sum
	}
	call.Reply(res, nil)
	return nil
}

// cursorOf returns the cursor of a page after a session.
func cursorOf(last core.Summary) string {
	at := strconv.FormatInt(last.Updated.UnixNano(), 36)
	return base64.RawURLEncoding.EncodeToString([]byte(at + " " + string(last.ID)))
}

// parseCursor returns the session that a page begins after, without an ID for the first page.
func parseCursor(c *string) (after core.Summary, err error) {
	if c == nil || *c == "" {
		return core.Summary{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(*c)
	updated, id, ok := strings.Cut(string(b), " ")
	n, numErr := strconv.ParseInt(updated, 36, 64)
	if err != nil || !ok || numErr != nil || id == "" {
		return after, jrpc2.Errorf(jrpc2.InvalidParams, "cursor: %.60q is not one that session/list gave out", *c)
	}
	return core.Summary{ID: core.SessionID(id), Updated: time.Unix(0, n)}, nil
}

// parseArchived returns which sessions a list has, by whether they are archived.
func parseArchived(filter *string) (func(archived bool) bool, error) {
	switch {
	case filter == nil, *filter == acp.ArchivedExclude:
		return func(archived bool) bool { return !archived }, nil
	case *filter == acp.ArchivedInclude:
		return func(bool) bool { return true }, nil
	case *filter == acp.ArchivedOnly:
		return func(archived bool) bool { return archived }, nil
	}
	return nil, jrpc2.Errorf(jrpc2.InvalidParams, "archived: %.60q is not one of exclude, include and only", *filter)
}

func infoOf(sum core.Summary) acp.SessionInfo {
	info := acp.SessionInfo{
		SessionID: string(sum.ID),
		Cwd:       sum.Cwd,
		Title:     sum.Title,
		UpdatedAt: acp.Stamp(sum.Updated),
		Archived:  sum.Archived,
	}
	for _, root := range sum.Roots {
		if root != sum.Cwd {
			info.AdditionalDirectories = append(info.AdditionalDirectories, root)
		}
	}
	return info
}
