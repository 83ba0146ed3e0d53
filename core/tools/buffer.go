package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core"
)

// maxVersions is how many files' versions are remembered.
const maxVersions = 10_000

// request asks the editor about a file that it may know better than the disk. Without a
// reply the disk is used: no editor offers the request, or the editor does not have the
// file, and then why says so. A refusal of the editor is an error.
func (s *toolset) request(ctx context.Context, p place, able func(core.EditorCaps) bool, call core.EditorCall) (reply core.EditorReply, why string, err error) {
	e := s.host.Editor()
	if e == nil || p.spill || !able(e.Caps()) {
		return nil, "", nil
	}
	wait, stop := context.WithTimeout(ctx, editorWait)
	defer stop()
	reply, err = e.Do(wait, call)
	why, err = lacking(ctx, wait, err)
	if err != nil {
		return nil, "", explain(p, err)
	}
	if why != "" {
		return nil, why, nil
	}
	return reply, "", nil
}

// lacking returns the reason why an editor does not have what it was asked for.
// Anything else that went wrong is an error, in the editor's words.
func lacking(ctx, wait context.Context, err error) (string, error) {
	var lacks *core.EditorLacks
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &lacks):
		return visible(lacks.Error()), nil
	case wait.Err() != nil:
		return "", fmt.Errorf("the editor did not answer within %v", editorWait)
	}
	return "", errors.New(visible(err.Error()))
}

// buffer asks the editor for a file's text; nil: it does not have it.
func (s *toolset) buffer(ctx context.Context, p place, line, limit int) (*core.FileText, string, error) {
	reply, why, err := s.request(ctx, p, func(c core.EditorCaps) bool { return c.ReadFile },
		core.ReadFile{Session: s.host.Meta().ID, Path: p.name, Line: line, Limit: limit})
	if t, ok := reply.(core.FileText); ok {
		return &t, "", nil
	}
	return nil, why, err
}

// stat asks the editor what a path is; nil: it does not know.
func (s *toolset) stat(ctx context.Context, p place) (*core.FileStat, error) {
	reply, _, err := s.request(ctx, p, func(c core.EditorCaps) bool { return c.Stat }, core.StatFile{Session: s.host.Meta().ID, Path: p.name})
	if st, ok := reply.(core.FileStat); ok {
		return &st, nil
	}
	return nil, err
}

// picture asks the editor for a picture; nil: it has none.
func (s *toolset) picture(ctx context.Context, p place) (core.Block, error) {
	reply, _, err := s.request(ctx, p, func(c core.EditorCaps) bool { return c.ReadBytes },
		core.ReadBytes{Session: s.host.Meta().ID, Path: p.name, Limit: maxImage + 1})
	if b, ok := reply.(core.FileBytes); ok && imageType(b.Data) != "" && len(b.Data) <= maxImage {
		return core.Image{MIME: imageType(b.Data), Data: b.Data}, nil
	}
	return nil, err
}

// namedPicture reports whether a name is that of a picture.
func namedPicture(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, strings.ToLower(filepath.Ext(name)))
}

// globbed asks the editor for the files of a folder that a pattern fits; ok is false
// where it has no answer. Patterns are counted from the session's folder there; paths
// that come back from elsewhere are left out. So are those of files that must not be
// read, or where programs keep keys, and left says how many they are.
func (s *toolset) globbed(ctx context.Context, p place, pattern string) (found, left []string, ok bool, err error) {
	bar, err := s.bar()
	if err != nil || p.root == nil || filepath.IsAbs(p.show) {
		return nil, nil, false, err
	}
	reply, _, err := s.request(ctx, p, func(c core.EditorCaps) bool { return c.Glob },
		core.GlobFiles{Session: s.host.Meta().ID, Pattern: join(escapeGlob(p.show), pattern)})
	paths, ok := reply.(core.FilePaths)
	barred, keys, among := 0, 0, core.KeepsKeys(p.real)
	for _, path := range paths.Paths {
		q, err := s.locate(path)
		if err != nil || q.root == nil {
			continue
		}
		_, in := within(p.real, q.real)
		switch {
		case in && !among && core.KeepsKeys(q.real):
			keys++
		case bar(q.real):
			barred++
		case in:
			found = append(found, q.show)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), []string{barredNote(barred), keysNote(keys)}, ok, err
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

var (
	errStale   = errors.New("it has changed since it was read, so it is not changed now: read it again")
	errUnsaved = errors.New("the editor has changes of it that are not saved, and does not write it for us, so nothing was written: have it saved first")
)

// fresh checks that a text may be changed: that it is the one which the model has read, if the
// editor counts versions, and that no text is lost that only the editor has.
func (s *toolset) fresh(p place, now content) error {
	s.mu.Lock()
	read := s.versions[p.real]
	s.mu.Unlock()
	if read != 0 && now.count != 0 && read != now.count {
		return explain(p, errStale)
	}
	if now.unsaved && !s.editorWrites() {
		return explain(p, errUnsaved)
	}
	return nil
}

// editorWrites reports whether the editor offers to write files.
func (s *toolset) editorWrites() bool {
	e := s.host.Editor()
	return e != nil && e.Caps().WriteFile
}

// sameText compares a text of the editor's with one on the disk. It ignores what
// editors leave out or add: the kind of line ends, the last of them, and a byte order
// mark.
func sameText(a, b string) bool {
	plain := func(s string) string { return strings.TrimSuffix(toLF(strings.TrimPrefix(s, bom)), "\n") }
	return a == b || plain(a) == plain(b)
}
