package tools

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core"
)

// maxVersions is how many files' versions are remembered.
const maxVersions = 10_000

// request asks the editor about a file that it may know better than the disk. ok is
// false when there is no editor for that, or it does not answer as it should: then
// the disk has to do.
func (s *toolset) request(ctx context.Context, p place, able func(core.EditorCaps) bool, call core.EditorCall) (core.EditorReply, bool) {
	e := s.host.Editor()
	if e == nil || p.spill || !able(e.Caps()) {
		return nil, false
	}
	ctx, stop := context.WithTimeout(ctx, editorWait)
	defer stop()
	reply, err := e.Do(ctx, call)
	return reply, err == nil
}

// buffer asks the editor for a file's text; ok is false when it does not have it.
func (s *toolset) buffer(ctx context.Context, p place, line, limit int) (t core.FileText, ok bool) {
	reply, ok := s.request(ctx, p, func(c core.EditorCaps) bool { return c.ReadFile },
		core.ReadFile{Session: s.host.Meta().ID, Path: p.name, Line: line, Limit: limit})
	if ok {
		t, ok = reply.(core.FileText)
	}
	return t, ok
}

// stat asks the editor what a path is.
func (s *toolset) stat(ctx context.Context, p place) (st core.FileStat, ok bool) {
	reply, ok := s.request(ctx, p, func(c core.EditorCaps) bool { return c.Stat }, core.StatFile{Session: s.host.Meta().ID, Path: p.name})
	if ok {
		st, ok = reply.(core.FileStat)
	}
	return st, ok
}

// picture asks the editor for a picture.
func (s *toolset) picture(ctx context.Context, p place) (core.Image, bool) {
	reply, ok := s.request(ctx, p, func(c core.EditorCaps) bool { return c.ReadBytes },
		core.ReadBytes{Session: s.host.Meta().ID, Path: p.name, Limit: maxImage + 1})
	if !ok {
		return core.Image{}, false
	}
	b, _ := reply.(core.FileBytes)
	kind := imageType(b.Data)
	return core.Image{MIME: kind, Data: b.Data}, kind != "" && len(b.Data) <= maxImage
}

// namedPicture reports whether a name is that of a picture.
func namedPicture(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, strings.ToLower(filepath.Ext(name)))
}

// globbed asks the editor for the files of a folder that a pattern fits. Patterns
// are counted from the session's folder there; paths that come back from elsewhere
// are left out, and those of files that must not be read are counted.
func (s *toolset) globbed(ctx context.Context, p place, pattern string) (found []string, barred int, ok bool) {
	bar, err := s.bar()
	if err != nil || p.root == nil || filepath.IsAbs(p.show) {
		return nil, 0, false
	}
	reply, ok := s.request(ctx, p, func(c core.EditorCaps) bool { return c.Glob },
		core.GlobFiles{Session: s.host.Meta().ID, Pattern: join(escapeGlob(p.show), pattern)})
	if !ok {
		return nil, 0, false
	}
	paths, ok := reply.(core.FilePaths)
	for _, path := range paths.Paths {
		q, err := s.locate(path)
		if err != nil || q.root == nil {
			continue
		}
		if bar(q.real) {
			barred++
		} else if _, in := within(p.real, q.real); in {
			found = append(found, q.show)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), barred, ok
}

// escapeGlob is a pattern that fits a path alone.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`).Replace(path)
}

// saw notes which version of a text the model has read; 0: none that counts.
func (s *toolset) saw(p place, version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version == 0 {
		delete(s.versions, p.real)
	} else if len(s.versions) < maxVersions || s.versions[p.real] != 0 {
		s.versions[p.real] = version
	}
}

var errStale = errors.New("it has changed since it was read, so it is not changed now: read it again")

// fresh makes sure that a text is the one that the model has read, where the editor
// counts.
func (s *toolset) fresh(p place, now content) error {
	s.mu.Lock()
	read := s.versions[p.real]
	s.mu.Unlock()
	if read != 0 && now.count != 0 && read != now.count {
		return explain(p, errStale)
	}
	return nil
}
