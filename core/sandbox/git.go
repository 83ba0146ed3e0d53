package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// gitFolders lists the folders, besides the root itself, in which git keeps what belongs to a
// workspace: of a worktree or a submodule they are elsewhere, and of a folder of a larger repository
// above it. A .git file may come from anybody, so a folder counts only if it names the workspace
// itself.
func gitFolders(root string) []string {
	for dir := root; ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		info, err := os.Lstat(at)
		switch {
		case err != nil:
		case info.IsDir():
			if dir == root || !plainRepository(at) {
				return nil
			}
			return []string{at}
		case info.Mode().IsRegular():
			return linkedFolders(at)
		default:
			return nil
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// plainRepository reports whether a folder looks like one of git.
func plainRepository(dir string) bool {
	head, err := os.Lstat(filepath.Join(dir, "HEAD"))
	objects, err2 := os.Lstat(filepath.Join(dir, "objects"))
	return err == nil && err2 == nil && head.Mode().IsRegular() && objects.IsDir()
}

// linkedFolders lists the folders that a .git file leads to, if they lead back to it.
func linkedFolders(file string) []string {
	to, ok := strings.CutPrefix(firstLine(file), "gitdir: ")
	if !ok {
		return nil
	}
	dir := from(filepath.Dir(file), to)
	if dir == "" {
		return nil
	}
	// A worktree: the folder names the file, and is one of those of its repository.
	if back := firstLine(filepath.Join(dir, "gitdir")); back != "" {
		common := from(dir, firstLine(filepath.Join(dir, "commondir")))
		if from(dir, back) == file && common != "" && plainRepository(common) && filepath.Dir(dir) == filepath.Join(common, "worktrees") {
			return []string{common}
		}
		return nil
	}
	// A submodule: its configuration names its worktree.
	if plainRepository(dir) && namesWorktree(filepath.Join(dir, "config"), dir, filepath.Dir(file)) {
		return []string{dir}
	}
	return nil
}

// from resolves a path that a file of git holds; "": there is none.
func from(dir, path string) string {
	if path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return real
}

// namesWorktree reports whether a configuration of git says that its worktree is a folder.
func namesWorktree(config, dir, worktree string) bool {
	text, err := readSmall(config)
	if err != nil {
		return false
	}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, "=")
		if ok && strings.TrimSpace(name) == "worktree" {
			return from(dir, strings.TrimSpace(value)) == worktree
		}
	}
	return false
}

// firstLine returns the only line of a small file; "": it is none.
func firstLine(path string) string {
	text, err := readSmall(path)
	if err != nil || strings.Count(strings.TrimSuffix(text, "\n"), "\n") > 0 {
		return ""
	}
	return strings.TrimSuffix(text, "\n")
}

const smallFile = 64 << 10 // bytes

func readSmall(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > smallFile {
		return "", os.ErrInvalid
	}
	text, err := os.ReadFile(path)
	return string(text), err
}
