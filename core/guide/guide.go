package guide

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"dragoman/core/display"
)

// Options are the places to read. All paths are absolute.
type Options struct {
	// Roots are the workspace's folders, the main one first.
	Roots []string
	// Home is the user's home folder: skills in its .agents and .claude are read; this
	// folder and those above it are not read as parents of a workspace folder. Empty:
	// not known.
	Home string
	// ConfigDirs are the user's configuration directories, the most important one
	// first; see ConfigDirs. They need not exist.
	ConfigDirs []string
	// BuiltIn are the commands that are always available. They come first, so that no
	// file can take their names.
	BuiltIn []BuiltIn
	// Refuse reports whether a file, by its absolute path, must not be included with
	// @; nil: only hidden ones must not. It must be quick.
	Refuse func(path string) bool
}

// ConfigDirs lists the configuration directories with guidance: ours and ECA's, below
// $XDG_CONFIG_HOME (xdg, may be empty) and below ~/.config.
func ConfigDirs(xdg, home string) []string {
	var dirs []string
	for _, name := range []string{"dragoman", "eca"} {
		if filepath.IsAbs(xdg) {
			dirs = append(dirs, filepath.Join(xdg, name))
		}
		if dir := filepath.Join(home, ".config", name); filepath.IsAbs(home) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// Source is the origin of a part of the guide.
type Source struct {
	File   string // absolute, with hidden characters named; empty: built in
	Folder string // the workspace folder, or a parent of it; empty: not the workspace's
	User   bool   // in the user's own files, not in the workspace

	at place
}

// Warning is a problem of a file that a person should know about. It never stops the
// load.
type Warning struct {
	File string // absolute, with hidden characters named
	Text string
}

func (w Warning) String() string { return w.File + ": " + w.Text }

// Guide is the guidance of the workspace and the user for agents, at the time of the
// Load. It does not change, and goroutines may share it; the results of its methods
// must not be changed either. It holds no file open.
type Guide struct {
	roots    []*area // workspace folders
	home     string
	refuse   func(string) bool
	parts    []Part
	rules    []Rule
	skills   []Skill
	commands []Command
	agents   []Agent
	warnings []Warning
	looks    []observation
	stamp    string
}

// Load reads the guide. It blocks while the file system does. Files that are missing,
// unreadable or wrong are left out and become warnings; the error is that of ctx, or
// reports a path in the options that is not absolute.
func Load(ctx context.Context, o Options) (*Guide, error) {
	for _, dir := range slices.Concat(o.Roots, o.ConfigDirs, []string{o.Home}) {
		if dir != "" && !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("load the guide: %q is not an absolute path", dir)
		}
	}
	l := newLoader(o)
	defer l.disk.close()
	l.open(ctx)
	l.instructions(ctx)
	l.rules(ctx)
	l.skills(ctx)
	l.agents(ctx)
	l.commands(ctx)
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("load the guide: %w", err)
	}
	l.g.looks = l.disk.seen
	l.g.stamp = stampOf(l.g.looks)
	return l.g, nil
}

// Warnings lists the problems of the files, in the order of reading.
func (g *Guide) Warnings() []Warning { return slices.Clone(g.warnings) }

// Stamp returns a short text that is equal for two guides from the same files,
// according to their paths, times and sizes.
func (g *Guide) Stamp() string { return g.stamp }

// Changed reports whether a file or folder that Load has visited has changed, appeared
// or disappeared, so that another Load gives another guide. It compares times and
// sizes and reads nothing. When ctx ends it returns false.
func (g *Guide) Changed(ctx context.Context) bool {
	d := newDisk()
	defer d.close()
	for _, was := range g.looks {
		if ctx.Err() != nil {
			return false
		}
		info, _ := d.lookAt(was.at) // an error counts as a missing file, now as in Load
		if !was.same(observe(was.at, info, was.list)) {
			return true
		}
	}
	return false
}

func stampOf(looks []observation) string {
	h := sha256.New()
	for _, l := range looks {
		fmt.Fprintf(h, "%q %d %d %d\n", l.at.path(), l.mode, l.size, l.time.UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// loader is the state of one Load.
type loader struct {
	o    Options
	disk *disk
	g    *Guide

	users   []*area // configuration directories
	home    *area   // nil: not known
	parents []place // folders above the workspace's, nearest first
	told    map[Warning]bool
	infos   map[string][]fs.FileInfo // by kind: the files already taken
}

func newLoader(o Options) *loader {
	return &loader{
		o:     o,
		disk:  newDisk(),
		g:     &Guide{home: o.Home, refuse: o.Refuse},
		told:  map[Warning]bool{},
		infos: map[string][]fs.FileInfo{},
	}
}

func (l *loader) warn(p place, format string, args ...any) {
	if len(l.g.warnings) > maxWarn {
		return
	}
	w := Warning{display.Visible(p.path()), fmt.Sprintf(format, args...)}
	if len(l.g.warnings) == maxWarn {
		w.Text = fmt.Sprintf("there are more than %d warnings; the others are left out", maxWarn)
	}
	if !l.told[w] {
		l.told[w] = true
		l.g.warnings = append(l.g.warnings, w)
	}
}

// unread adds a warning about a file or folder that could not be read.
func (l *loader) unread(p place, err error) { l.warn(p, "was not read: %v", err) }

// open finds the folders that exist. Duplicates count once.
func (l *loader) open(ctx context.Context) {
	var infos []fs.FileInfo
	open := func(dir string, user bool) *area {
		if dir == "" || ctx.Err() != nil {
			return nil
		}
		a := newArea(dir, user)
		here := place{a, "."}
		info, err := l.disk.stat(here)
		if err != nil {
			if !user || !errors.Is(err, fs.ErrNotExist) {
				l.unread(here, err)
			}
			return nil
		}
		if holds(infos, info) {
			return nil
		}
		infos = append(infos, info)
		return a
	}
	for _, dir := range l.o.Roots {
		if a := open(dir, false); a != nil {
			l.g.roots = append(l.g.roots, a)
		}
	}
	for _, dir := range l.o.ConfigDirs {
		if a := open(dir, true); a != nil {
			l.users = append(l.users, a)
		}
	}
	l.home = open(l.o.Home, true)
	for _, a := range l.g.roots {
		l.parents = append(l.parents, l.above(a)...)
	}
}

// above lists the folders above a workspace folder up to the root of its repository,
// nearest first; none if the workspace folder is itself the root of a repository, or
// in none. The home folder, the folders above it, and folders that anybody may write
// to are left out.
func (l *loader) above(a *area) []place {
	home := l.o.Home
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	var dirs []string
	for dir := a.real; ; {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir || home != "" && (dir == home || parent == home) {
			return nil
		}
		if info, err := os.Stat(parent); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
			return nil
		}
		dirs = append(dirs, parent)
		dir = parent
	}
	if len(dirs) == 0 {
		return nil
	}
	repository := newArea(dirs[len(dirs)-1], false)
	var list []place
	for _, dir := range dirs {
		if rel, ok := repository.rel(dir); ok {
			list = append(list, place{repository, rel})
		}
	}
	return list
}

// folders lists the folders for files of one kind: folders in the workspace, then one
// in each configuration directory.
func (l *loader) folders(workspace []string, user string) []place {
	var list []place
	for _, a := range l.g.roots {
		for _, dir := range workspace {
			list = append(list, place{a, dir})
		}
	}
	for _, a := range l.users {
		list = append(list, place{a, user})
	}
	return list
}

// names lists the names in a folder, which need not exist.
func (l *loader) names(ctx context.Context, dir place) []string {
	names, err := l.disk.list(ctx, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
		l.unread(dir, err)
	}
	return names
}

// document is a Markdown file with front matter.
type document struct {
	at    place
	front node
	body  string
	info  fs.FileInfo
}

// document reads a file. ok is false if it is missing or was left out.
func (l *loader) document(ctx context.Context, p place) (document, bool) {
	doc, cut, err := readDocument(ctx, l.disk, p)
	switch {
	case errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil:
		return doc, false
	case err != nil:
		l.warn(p, "was left out: %v", err)
		return doc, false
	case cut:
		l.warn(p, longWarning, maxFile>>10)
	}
	if _, found := legible(doc.body); found {
		l.warn(p, hiddenWarning)
	}
	return doc, true
}

// fresh reports whether a file was not taken before under another name.
func (l *loader) fresh(kind string, doc document) bool {
	if holds(l.infos[kind], doc.info) {
		return false
	}
	l.infos[kind] = append(l.infos[kind], doc.info)
	return true
}

// taken adds a warning that a file is hidden by another one with the same name.
func (l *loader) taken(p place, kind, name string, by Source) {
	l.warn(p, "was left out: the %s %s is already that of %s", kind, name, by.File)
}

func readDocument(ctx context.Context, d *disk, p place) (doc document, cut bool, err error) {
	data, info, cut, err := d.read(ctx, p, maxFile)
	doc = document{at: p, info: info}
	if err != nil {
		return doc, false, err
	}
	text, err := textOf(data)
	if err != nil {
		return doc, false, err
	}
	doc.front, doc.body, err = splitFront(text)
	if cut {
		doc.body += cutNote
	}
	return doc, cut, err
}

const (
	longWarning   = "is longer than %d KiB; the rest was left out"
	hiddenWarning = "holds hidden characters; the agent is shown them as ⟨U+…⟩"
)

const cutNote = "\n\n(The file continues; the rest was left out.)\n"

// body reads the body of a document again, when it is needed.
func (g *Guide) body(p place) (string, error) {
	d := newDisk()
	defer d.close()
	doc, _, err := readDocument(context.Background(), d, p)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", display.Visible(p.path()), err)
	}
	text, _ := legible(doc.body)
	return strings.TrimSpace(text), nil
}
