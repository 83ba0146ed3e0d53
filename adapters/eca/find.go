package eca

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// maxFound is how many paths of the workspace are offered at once.
const maxFound = 100

// queryContext is chat/queryContext: what a prompt may refer to that fits what was
// typed, without what it refers to already. A blank query fits all.
func (s *Server) queryContext(ctx context.Context, call *wire.Call, p eca.QueryContextParams) error {
	s.finding(ctx, call, p.ChatID, p.Query, func(prof *core.Profile, roots []string, found []core.FileName) any {
		list := offered(s.peerNow().dialect, roots, strings.TrimSpace(p.Query))
		res := eca.QueryContextResult{ChatID: p.ChatID, Contexts: []any{}}
		list = append(list, contextsOf(found)...)
		if prof != nil && prof.Resources != nil {
			list = append(list, resourcesOf(prof.Resources.List(ctx, roots, strings.TrimSpace(p.Query), maxFound))...)
		}
		for _, c := range without(list, given(p.Contexts)) {
			switch c.Type {
			case eca.ContextCursor:
				res.Contexts = append(res.Contexts, eca.CursorContext{Type: c.Type})
			case eca.ContextMCPResource:
				res.Contexts = append(
					res.Contexts,
					eca.ResourceContext{
						Type:        c.Type,
						URI:         c.URI,
						Name:        c.Name,
						Description: c.Description,
						MIMEType:    c.MIMEType,
						Server:      c.Server,
					},
				)
			default:
				res.Contexts = append(res.Contexts, c)
			}
		}
		return res
	})
	return nil
}

// queryFiles is chat/queryFiles: the files and folders that fit.
func (s *Server) queryFiles(ctx context.Context, call *wire.Call, p eca.QueryParams) error {
	s.finding(ctx, call, p.ChatID, p.Query, func(_ *core.Profile, _ []string, found []core.FileName) any {
		return eca.QueryFilesResult{ChatID: p.ChatID, Files: contextsOf(found)}
	})
	return nil
}

// finding answers with what becomes of the paths that fit a query. The search is in
// nobody's way.
func (s *Server) finding(
	ctx context.Context,
	call *wire.Call,
	chatID *string,
	query string,
	result func(prof *core.Profile, roots []string, found []core.FileName) any,
) {
	roots := s.rootsNow()
	if c := s.chat(said(chatID)); c != nil {
		if att := c.att.Load(); att != nil {
			roots = att.Meta().Roots
		}
	}
	s.wg.Go(func() {
		var found []core.FileName
		prof, err := s.opts.Gateway.Profile(ctx, s.opts.Profiles, roots)
		if err != nil { // it is told where it matters more
			prof = nil
		}
		if prof != nil && prof.Files != nil {
			found = prof.Files.Find(ctx, roots, strings.TrimSpace(query), maxFound)
		}
		s.reply(ctx, call, result(prof, roots, found[:min(len(found), maxFound)]), nil)
	})
}

// offered lists what can be referred to besides paths that were searched for: the map
// of the workspace, the place where the user is, and the workspace's folders.
func offered(d Dialect, roots []string, query string) []eca.Context {
	fits := func(name string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(query)) }
	list := []eca.Context{}
	for _, kind := range []string{eca.ContextRepoMap, eca.ContextCursor} {
		if fits(kind) && (kind != eca.ContextCursor || d != Doc001) {
			list = append(list, eca.Context{Type: kind})
		}
	}
	for _, root := range roots {
		if fits(filepath.Base(root)) {
			list = append(list, eca.Context{Type: eca.ContextDirectory, Path: root})
		}
	}
	return list
}

func contextsOf(found []core.FileName) []eca.Context {
	list := make([]eca.Context, len(found))
	for i, n := range found {
		list[i] = eca.Context{Type: eca.ContextFile, Path: n.Path}
		if n.Folder {
			list[i].Type = eca.ContextDirectory
		}
	}
	return list
}

// resourcesOf are resources of MCP servers. A link's title names the server.
func resourcesOf(links []core.Link) []eca.Context {
	list := make([]eca.Context, len(links))
	for i, l := range links {
		list[i] = eca.Context{
			Type:        eca.ContextMCPResource,
			URI:         l.URI,
			Name:        cmp.Or(l.Name, l.URI),
			Description: l.Description,
			MIMEType:    l.MIME,
			Server:      l.Title,
		}
	}
	return list
}

// given reads the contexts that a prompt has already; what cannot be read is none.
func given(raw json.RawMessage) (list []eca.Context) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	for _, item := range items {
		var c eca.Context
		if wire.Unmarshal(item, &c) == nil {
			list = append(list, c)
		}
	}
	return list
}

// without leaves out what is given, and what stands there twice. A part of a file is
// not the file.
func without(list, given []eca.Context) []eca.Context {
	type name struct{ kind, path, uri string }
	nameOf := func(c eca.Context) name {
		if c.Type == eca.ContextCursor { // wherever it is
			return name{kind: c.Type}
		}
		return name{c.Type, c.Path, c.URI}
	}
	seen := map[name]bool{}
	for _, c := range given {
		if c.LinesRange == nil {
			seen[nameOf(c)] = true
		}
	}
	return slices.DeleteFunc(list, func(c eca.Context) bool {
		twice := seen[nameOf(c)]
		seen[nameOf(c)] = true
		return twice
	})
}
