package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/core/files"
)

// The bounds of a search for control files.
const (
	maxDepth    = 4
	maxFolders  = 1000 // of a workspace
	maxControls = 200  // that are mounted read-only; each costs a mount
)

// skipped are folders without files that decide anything for the workspace, or with too many of
// them: packages bring their own.
var skipped = []string{".git", "node_modules", "vendor", "target", "dist", "build", ".venv", "venv", "__pycache__"}

// guarded lists the control files and folders that exist in what programs can change: those of the
// workspace itself, those of git, and those in folders further down.
func (w Workspace) guarded(write []string) (list []string) {
	for _, root := range write {
		list = append(list, controls(root, true)...)
	}
	list = sorted(list)
	return list[:min(len(list), maxControls)]
}

// controls lists the control files and folders in a folder that exist. Deep looks into all folders,
// within bounds, and not only into those that hold settings.
func controls(root string, deep bool) []string {
	if plainRepository(root) {
		return gitPaths(root)
	}
	s := search{root: root, deep: deep, left: maxFolders}
	s.visit("", 0)
	for _, dir := range gitFolders(root) {
		s.found = append(s.found, gitPaths(dir)...)
	}
	return s.found
}

// denied lists what the user's rules deny in folders, as far as the search goes, and the folders that
// were searched.
func (w Workspace) denied(roots []string) (list []string, searched map[string]time.Time) {
	if w.Denied == nil {
		return nil, nil
	}
	left := maxFolders
	searched = map[string]time.Time{}
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case path != root && w.Denied(path):
				if list = append(list, path); e.IsDir() {
					return fs.SkipDir
				}
			case e.IsDir():
				if left--; left < 0 || len(list) >= maxControls {
					return fs.SkipAll
				}
				if path != root && slices.Contains(skipped, e.Name()) {
					return fs.SkipDir
				}
				if info, err := e.Info(); err == nil {
					searched[path] = changeTime(info) // before it is read
				}
			}
			return nil
		})
	}
	return list, searched
}

// search is a search for control files.
type search struct {
	root  string
	deep  bool
	left  int // folders
	found []string
}

func (s *search) visit(rel string, depth int) {
	if s.left--; s.left < 0 {
		return
	}
	entries, err := os.ReadDir(filepath.Join(s.root, rel))
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(rel, e.Name())
		switch {
		case e.Name() == ".git":
			if e.IsDir() {
				s.found = append(s.found, gitPaths(filepath.Join(s.root, path))...)
			} else if !s.deep { // a file or a link that leads to a folder of git; a mount would keep a worktree from being removed
				s.found = append(s.found, filepath.Join(s.root, path))
			}
		case e.Type() == fs.ModeSymlink && files.HoldsControlFiles(strings.ToLower(e.Name())):
			s.found = append(s.found, filepath.Join(s.root, path))
		case files.ControlFile(strings.ToLower(filepath.ToSlash(path))):
			s.found = append(s.found, filepath.Join(s.root, path))
		case e.IsDir() && depth < maxDepth && !slices.Contains(skipped, e.Name()) && (s.deep || strings.HasPrefix(e.Name(), ".")):
			s.visit(path, depth+1)
		}
	}
}

// gitControls are the paths in a folder of git that make git, or who looks at the folder, run
// something.
var gitControls = []string{"hooks", "config", "config.worktree", "commondir", "gitdir", "info/attributes", "info/grafts"}

// gitPaths lists those of a folder of git that exist, with those of its submodules and worktrees.
func gitPaths(dir string) (list []string) {
	at := []string{dir}
	for _, kind := range []string{"modules", "worktrees"} {
		entries, _ := os.ReadDir(filepath.Join(dir, kind))
		for _, e := range entries {
			if e.IsDir() {
				at = append(at, filepath.Join(dir, kind, e.Name()))
			}
		}
	}
	for _, dir := range at {
		for _, name := range gitControls {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if _, err := os.Lstat(path); err == nil && !ownWorktree(path) {
				list = append(list, path)
			}
		}
	}
	return list
}

// ownWorktree reports whether a file ties a worktree to the repository that holds it, as git writes
// it: it leads nowhere else.
func ownWorktree(path string) bool {
	dir := filepath.Dir(path)
	if filepath.Base(filepath.Dir(dir)) != "worktrees" {
		return false
	}
	switch filepath.Base(path) {
	case "commondir":
		return firstLine(path) == "../.."
	case "gitdir":
		return filepath.Base(firstLine(path)) == ".git"
	}
	return false
}

// leaves lists the files below a path, itself if it is none, with no more than a number of them.
func leaves(path string, most int) (list []string) {
	_ = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			list = append(list, at)
		}
		if len(list) >= most {
			return fs.SkipAll
		}
		return nil
	})
	return list
}
