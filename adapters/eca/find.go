package eca

import (
	"context"
	"strings"

	"dragoman/adapters/eca/refer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/workspace"
)

// maxFound limits the paths of the workspace that are offered at once.
const maxFound = 100

// queryContext handles chat/queryContext: references for a prompt that match the typed text,
// without those that the prompt has already. A blank query matches all.
func (s *Server) queryContext(ctx context.Context, call *wire.Call, p eca.QueryContextParams) error {
	s.finding(ctx, call, p.ChatID, p.Query, func(ctx context.Context, prof *core.Profile, roots []string, found []workspace.FileName) any {
		list := refer.Offered(roots, strings.TrimSpace(p.Query))
		res := eca.QueryContextResult{ChatID: p.ChatID, Contexts: []any{}}
		list = append(list, refer.Contexts(found)...)
		if served := workspace.Of(prof).Resources; served != nil {
			list = append(list, refer.Resources(served.List(ctx, roots, strings.TrimSpace(p.Query), maxFound))...)
		}
		for _, c := range refer.Without(list, refer.Given(p.Contexts)) {
			switch c.Type {
			case eca.ContextCursor:
				res.Contexts = append(res.Contexts, eca.CursorContext{Type: c.Type})
			case eca.ContextMCPResource:
				res.Contexts = append(res.Contexts, eca.ResourceContext{
					Type: c.Type, URI: c.URI, Name: c.Name, Description: c.Description, MIMEType: c.MIMEType, Server: c.Server,
				})
			default:
				res.Contexts = append(res.Contexts, c)
			}
		}
		return res
	})
	return nil
}

// queryFiles handles chat/queryFiles: the files and folders that match.
func (s *Server) queryFiles(ctx context.Context, call *wire.Call, p eca.QueryParams) error {
	s.finding(ctx, call, p.ChatID, p.Query, func(_ context.Context, _ *core.Profile, _ []string, found []workspace.FileName) any {
		return eca.QueryFilesResult{ChatID: p.ChatID, Files: refer.Contexts(found)}
	})
	return nil
}

// finding searches for paths that match a query, and answers with what the caller makes of them.
// The search runs in a goroutine of its own, delays nothing, and ends early for a newer query.
func (s *Server) finding(
	ctx context.Context,
	call *wire.Call,
	chatID *string,
	query string,
	result func(ctx context.Context, prof *core.Profile, roots []string, found []workspace.FileName) any,
) {
	roots := s.rootsNow()
	if c := s.chat(said(chatID)); c != nil {
		roots = c.folders()
	}
	typed, done := s.typing.Begin(ctx, call.Method, said(chatID))
	s.wg.Go(func() {
		defer done()
		prof, err := s.opts.Gateway.Profile(ctx, s.opts.Profiles, roots)
		if err != nil { // the error is reported where it matters more
			prof = nil
		}
		found := s.typing.Find(typed, prof, roots, strings.TrimSpace(query), maxFound)
		s.reply(ctx, call, result(typed, prof, roots, found[:min(len(found), maxFound)]), nil)
	})
}
