package acp

import (
	"context"
	"encoding/base64"
	"path/filepath"
	"strconv"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// page is how many sessions one answer lists.
const page = 100

// listSessions is session/list: those with a conversation in them, last used
// first.
func (s *Server) listSessions(ctx context.Context, call *wire.Call, p acp.ListRequest) error {
	skip, err := cursor(p.Cursor)
	if err != nil {
		return err
	}
	res := acp.ListResponse{Sessions: []acp.SessionInfo{}}
	n := 0
	for sum, err := range s.opts.Gateway.List(ctx, core.Local) {
		if err != nil {
			return err
		}
		if sum.Parent != "" || sum.Messages == 0 || p.Cwd != nil && filepath.Clean(*p.Cwd) != filepath.Clean(sum.Cwd) {
			continue
		}
		if n++; n <= skip {
			continue
		}
		if len(res.Sessions) == page {
			res.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(skip + page)))
			break
		}
		res.Sessions = append(res.Sessions, infoOf(sum))
	}
	call.Reply(res, nil)
	return nil
}

func infoOf(sum core.Summary) acp.SessionInfo {
	info := acp.SessionInfo{SessionID: string(sum.ID), Cwd: sum.Cwd, Title: sum.Title, UpdatedAt: stamp(sum.Updated)}
	for _, root := range sum.Roots {
		if root != sum.Cwd {
			info.AdditionalDirectories = append(info.AdditionalDirectories, root)
		}
	}
	return info
}

// stamp is a time as the protocol has it, in RFC 3339; the zero time is empty.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func cursor(c *string) (int, error) {
	if c == nil || *c == "" {
		return 0, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(*c)
	n, numErr := strconv.Atoi(string(b))
	if err != nil || numErr != nil || n < 0 {
		return 0, jrpc2.Errorf(jrpc2.InvalidParams, "cursor: %.60q is not one that session/list gave out", *c)
	}
	return n, nil
}
