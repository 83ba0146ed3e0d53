package refer

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/workspace"
)

// Offered lists possible references other than paths from a search: the map of the workspace, the
// place where the user is, and the workspace's folders.
func Offered(roots []string, query string) []eca.Context {
	fits := func(name string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(query)) }
	list := []eca.Context{}
	for _, kind := range []string{eca.ContextRepoMap, eca.ContextCursor} {
		if fits(kind) {
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

// Contexts returns files and folders of the workspace as contexts.
func Contexts(found []workspace.FileName) []eca.Context {
	list := make([]eca.Context, len(found))
	for i, n := range found {
		list[i] = eca.Context{Type: eca.ContextFile, Path: n.Path}
		if n.Folder {
			list[i].Type = eca.ContextDirectory
		}
	}
	return list
}

// Resources returns resources of MCP servers as contexts. A link's title names the server.
func Resources(links []core.Link) []eca.Context {
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

// Given reads the contexts that a prompt has already; unreadable ones are left out.
func Given(raw json.RawMessage) (list []eca.Context) {
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

// Without leaves out the given paths, and duplicates. A part of a file is
// not the file.
func Without(list, given []eca.Context) []eca.Context {
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
