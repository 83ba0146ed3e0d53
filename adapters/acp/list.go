package acp

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
	after, err := parseRank(p.Cursor)
	if err != nil {
		return err
	}
	lists, err := parseArchived(p.Archived)
	if err != nil {
		return err
	}
	res := acp.ListResponse{Sessions: []acp.SessionInfo{}}
	var list []core.Summary // the first of the page, and some more
	cut := func() {
		slices.SortFunc(list, func(a, b core.Summary) int { return rankOf(a).compare(rankOf(b)) })
		list = list[:min(len(list), page+1)]
	}
	for sum, err := range s.opts.Gateway.ListNow(ctx, s.opts.Principal) {
		if errors.Is(err, core.ErrIncomplete) {
			res.Meta = &acp.ListMeta{}
			res.Meta.Dragoman.Incomplete = true
			continue
		}
		if err != nil {
			return err
		}
		if sum.Parent != "" || sum.Messages == 0 || !lists(sum.Archived) ||
			p.Cwd != nil && filepath.Clean(*p.Cwd) != filepath.Clean(sum.Cwd) {
			continue
		}
		if after.before(rankOf(sum)) {
			list = append(list, sum)
		}
		if len(list) == 4*page { // nearly all are in order already
			cut()
		}
	}
	cut()
	for _, sum := range list[:min(len(list), page)] {
		res.Sessions = append(res.Sessions, infoOf(sum))
	}
	if len(list) > page {
		res.NextCursor = rankOf(list[page-1]).String()
	}
	call.Reply(res, nil)
	return nil
}

// rank is the place of a session in the list.
type rank struct {
	updated int64 // nanoseconds
	id      core.SessionID
}

func rankOf(sum core.Summary) rank { return rank{sum.Updated.UnixNano(), sum.ID} }

func (r rank) compare(other rank) int {
	return cmp.Or(-cmp.Compare(r.updated, other.updated), cmp.Compare(r.id, other.id))
}

func (r rank) before(other rank) bool { return r.compare(other) < 0 }

// String returns the cursor of a page after r.
func (r rank) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(r.updated, 36) + " " + string(r.id)))
}

func parseRank(c *string) (r rank, err error) {
	if c == nil || *c == "" {
		return rank{updated: math.MaxInt64}, nil // before all
	}
	b, err := base64.RawURLEncoding.DecodeString(*c)
	updated, id, ok := strings.Cut(string(b), " ")
	n, numErr := strconv.ParseInt(updated, 36, 64)
	if err != nil || !ok || numErr != nil {
		return r, jrpc2.Errorf(jrpc2.InvalidParams, "cursor: %.60q is not one that session/list gave out", *c)
	}
	return rank{n, core.SessionID(id)}, nil
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
