package refer

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dragoman/core/workspace"
)

// mention is a path after an at sign in a text: "@src/a.go" or "@src/a.go:L3-L9". Lines are
// 1-based and inclusive; zero: all.
type mention struct {
	path  string
	lines [2]int
}

// mentions finds possible paths in a text: words that begin with an at sign, without the
// punctuation after them; each once, and at most as many as a prompt may have.
func mentions(text string) (list []mention) {
	for word := range strings.FieldsSeq(text) {
		word, ok := strings.CutPrefix(strings.TrimLeft(word, "("), "@")
		if !ok {
			continue
		}
		m := mention{path: strings.TrimRight(word, ".,;:!?)]}'\"`")}
		if i := strings.LastIndex(m.path, ":L"); i > 0 {
			if lines, ok := lineRange(m.path[i+1:]); ok {
				m.path, m.lines = m.path[:i], lines
			}
		}
		if m.path != "" && !strings.ContainsRune(m.path, 0) && !slices.Contains(list, m) {
			list = append(list, m)
		}
		if len(list) == maxContexts {
			break
		}
	}
	return list
}

// lineRange reads L3 and L3-L9.
func lineRange(text string) (lines [2]int, ok bool) {
	first, last, two := strings.Cut(text, "-")
	if !two {
		last = first
	}
	for i, part := range []string{first, last} {
		digits, marked := strings.CutPrefix(part, "L")
		n, err := strconv.ParseUint(digits, 10, 31)
		if !marked || err != nil {
			return [2]int{}, false
		}
		lines[i] = int(n)
	}
	lines[0] = max(lines[0], 1)
	lines[1] = max(lines[0], lines[1])
	return lines, true
}

// mentioned returns the file or folder that a mention names: by the form of a path, or by the
// name of an existing file in the workspace. Any other word after an at sign is only a word.
func (d *Desk) mentioned(name string) (path string, ok bool) {
	switch {
	case strings.Trim(name, "/.~") == "":
		return "", false
	case strings.HasPrefix(name, "~/"),
		strings.HasPrefix(name, "./"),
		strings.HasPrefix(name, "../"),
		filepath.IsAbs(name):
		path = d.Path(name)
		return path, path != ""
	case strings.HasPrefix(name, "~"):
		return "", false
	}
	for _, root := range d.roots {
		if path = filepath.Join(root, filepath.FromSlash(name)); below([]string{root}, path) && d.exists(path) {
			return path, true
		}
	}
	return "", false
}

// treeOf writes the paths below a folder as a tree, each level indented by two
// spaces.
func treeOf(root string, names []workspace.FileName) string {
	slices.SortFunc(names, func(a, b workspace.FileName) int { return strings.Compare(a.Path, b.Path) })
	var b strings.Builder
	b.WriteString(root + "\n")
	var open []string // the folders of the last line
	for _, n := range names {
		rel, err := filepath.Rel(root, n.Path)
		if err != nil || !filepath.IsLocal(rel) || rel == "." {
			continue
		}
		parts := strings.Split(filepath.ToSlash(rel), "/")
		if n.Folder {
			parts = append(parts, "")
		}
		folders := parts[:len(parts)-1]
		shared := 0
		for shared < min(len(open), len(folders)) && open[shared] == folders[shared] {
			shared++
		}
		for i := shared; i < len(folders); i++ {
			b.WriteString(strings.Repeat("  ", i+1) + folders[i] + "/\n")
		}
		open = folders
		if name := parts[len(parts)-1]; name != "" {
			b.WriteString(strings.Repeat("  ", len(parts)) + name + "\n")
		}
	}
	return b.String()
}
