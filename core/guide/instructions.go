package guide

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"dragoman/core/display"
)

// instructionFiles are read, in this order, in every folder with instructions. Often
// one is a link to the other, or includes it.
var instructionFiles = []string{"AGENTS.md", "CLAUDE.md"}

const (
	maxInclude  = 5   // files included by files included …
	maxMentions = 100 // @ in one file
	maxParts    = 200
)

// Part is the text of one file of instructions.
type Part struct {
	Source
	Text string
	By   string // the file that includes this one; empty: none
}

// Instructions lists the texts of AGENTS.md and CLAUDE.md and of the files that they
// include, the nearest first: the workspace folders', then those of the folders above
// them up to the repository's, then the user's own.
func (g *Guide) Instructions() []Part { return slices.Clone(g.parts) }

// InstructionsFor lists the instructions for files or folders beyond those of the whole
// workspace: the texts of AGENTS.md and CLAUDE.md in the folders from each file's up to the
// workspace folder's, the nearest first. It reads the files now, within the limits of a
// Load. Paths are absolute; those outside of the workspace have no instructions.
func (g *Guide) InstructionsFor(ctx context.Context, paths ...string) ([]Part, []Warning) {
	l := newLoader(Options{Home: g.home, Refuse: g.refuse})
	defer l.disk.close()
	l.g.roots = g.roots
	c := &collector{l: l, left: maxTexts}
	for _, p := range g.parts {
		c.files = append(c.files, p.File)
	}
	var folders []place
	for _, path := range paths {
		at, ok := g.locate(path)
		if !ok {
			continue
		}
		for _, dir := range l.foldersTo(at) {
			if p := (place{at.in, dir}); !slices.Contains(folders, p) {
				folders = append(folders, p)
			}
		}
	}
	for _, p := range folders {
		c.folder(ctx, p)
	}
	return c.parts, l.g.warnings
}

// Framed returns the part in its form for the model: between tags with the name of its
// file, which nothing in the text can end.
func (p Part) Framed() string {
	attributes := []string{"file", p.File}
	if p.By != "" {
		attributes = append(attributes, "included-by", p.By)
	}
	return framed("instructions", p.Text, append(attributes, "of", p.owner())...)
}

// locate finds the workspace folder of a path, the innermost of several.
func (g *Guide) locate(path string) (place, bool) {
	var best place
	if !filepath.IsAbs(path) {
		return best, false
	}
	path = filepath.Clean(path)
	for _, a := range g.roots {
		if rel, ok := a.rel(path); ok && (best.in == nil || len(rel) < len(best.rel)) {
			best = place{a, rel}
		}
	}
	return best, best.in != nil
}

// foreign lists folders with files that others wrote for their own projects.
var foreign = []string{".git", "node_modules", "vendor", "third_party", "site-packages"}

// foldersTo lists the folders from a place, including itself if it is a folder, up to
// the workspace folder, without that one. Below a foreign folder there are none.
func (l *loader) foldersTo(p place) []string {
	var dirs []string
	dir := path.Dir(p.rel)
	if info, err := l.disk.lookAt(p); err == nil && info.IsDir() {
		dir = p.rel
	}
	for ; dir != "."; dir = path.Dir(dir) {
		if slices.Contains(foreign, path.Base(dir)) {
			dirs = nil
			continue
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// instructions reads the instructions for the whole workspace.
func (l *loader) instructions(ctx context.Context) {
	c := &collector{l: l, left: maxTexts}
	for _, a := range l.g.roots {
		c.folder(ctx, place{a, "."})
	}
	for _, p := range l.parents {
		c.folder(ctx, p)
	}
	for _, a := range l.users {
		c.folder(ctx, place{a, "."})
	}
	l.g.parts = c.parts
}

// collector gathers instructions. It takes each file, and each text, once.
type collector struct {
	l     *loader
	left  int // bytes
	parts []Part
	infos []fs.FileInfo // of the files that were taken
	files []string      // taken before
	full  bool
}

func (c *collector) folder(ctx context.Context, dir place) {
	for _, name := range instructionFiles {
		c.file(ctx, place{dir.in, path.Join(dir.rel, name)}, nil)
	}
}

// file takes a file and the files that it includes. by is the chain of files that
// include it.
func (c *collector) file(ctx context.Context, p place, by []place) {
	if c.full || ctx.Err() != nil {
		return
	}
	data, info, cut, err := c.l.disk.read(ctx, p, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		c.l.unread(p, err)
		return
	case holds(c.infos, info):
		return
	}
	c.infos = append(c.infos, info)
	text, err := textOf(data)
	if err != nil {
		c.l.unread(p, err)
		return
	}
	if cut {
		c.l.warn(p, longWarning, maxFile>>10)
		text += cutNote
	}
	if part, ok := c.part(p, text, by); ok {
		if !onlyMentions(text) {
			c.parts = append(c.parts, part)
		}
		c.include(ctx, p, text, append(slices.Clip(by), p))
	}
}

// part makes a part from a text. ok is false if the text is empty, was taken before,
// or no room is left.
func (c *collector) part(p place, text string, by []place) (part Part, ok bool) {
	text, found := legible(text)
	if found {
		c.l.warn(p, hiddenWarning)
	}
	part = Part{Source: p.source(), Text: text}
	if len(by) > 0 {
		part.By = display.Visible(by[len(by)-1].path())
	}
	same := func(q Part) bool { return q.Text == text }
	if blank(text) || slices.ContainsFunc(c.parts, same) || slices.Contains(c.files, part.File) {
		return part, false
	}
	if len(text) > c.left || len(c.parts) == maxParts {
		c.full = true
		c.l.warn(
			p,
			"was left out, and so was what comes after it: all instructions together are more than %d KiB or %d files",
			maxTexts>>10,
			maxParts,
		)
		return part, false
	}
	c.left -= len(text)
	return part, true
}

// include takes the files that a text mentions with @.
func (c *collector) include(ctx context.Context, p place, text string, chain []place) {
	for i, m := range mentions(text) {
		if i == maxMentions {
			c.l.warn(p, "mentions more than %d files with @; the others were left out", maxMentions)
			return
		}
		at, err := c.target(p, m)
		if err == nil {
			err = c.may(ctx, at, chain)
		}
		switch {
		case err == nil:
			c.file(ctx, at, chain)
		case m.sure():
			c.l.warn(p, "@%s was not included: %v", oneLine(m.path, 200), err)
		}
	}
}

// target finds the file of a mention: relative to the folder of the including file, in
// the user's home, or absolute; and always inside of the including file's area, or for
// the workspace's files in one of its folders.
func (c *collector) target(p place, m mention) (place, error) {
	name := filepath.FromSlash(m.path)
	switch {
	case len(m.path) > 1 && m.path[:2] == "~/":
		if c.l.o.Home == "" {
			return place{}, errors.New("the home folder is not known")
		}
		name = filepath.Join(c.l.o.Home, name[2:])
	case !filepath.IsAbs(name):
		name = filepath.Join(p.dir(), name)
	}
	name = filepath.Clean(name)
	areas := []*area{p.in}
	if !p.in.user {
		areas = append(areas, c.l.g.roots...)
	}
	for _, a := range areas {
		if rel, ok := a.rel(name); ok {
			return place{a, rel}, nil
		}
	}
	return place{}, fmt.Errorf("it lies outside of %s", display.Visible(p.in.dir))
}

// may returns the reason why a file must not be included, or nil. Files that include
// themselves are skipped by the collector, which takes every file once.
func (c *collector) may(ctx context.Context, at place, chain []place) error {
	switch {
	case len(chain) > maxInclude:
		return fmt.Errorf("files include each other more than %d deep", maxInclude)
	case private(at.rel):
		return errors.New("hidden files are not included")
	case c.l.o.Refuse != nil && c.l.o.Refuse(at.path()):
		return errors.New("a rule of the configuration forbids it")
	}
	info, err := c.l.disk.stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file")
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a folder")
	}
	return ctx.Err()
}
