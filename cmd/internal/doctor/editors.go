package doctor

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"dragoman/cmd/internal/imports"
)

// examineEditors checks the settings of editors.
func (d *Doctor) examineEditors() section {
	s := section{title: "Editors"}
	home := d.env.Home()
	for _, f := range imports.EditorFiles(d.env) {
		text, err := imports.ReadFile(f.Path)
		switch where := f.Editor + ": " + short(f.Path, home); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			s.add(look, "%s: %v", where, err)
		case f.IsProgram():
			if line := lineOf(text, "dragoman"); line > 0 {
				s.add(fine, "%s mentions dragoman (line %d)", where, line)
			}
		default:
			examineEntries(&s, f, where, text)
		}
	}
	if len(s.findings) == 0 {
		s.add(plain, "no editor's settings were found that start an agent").hint = "\"dragoman demo\" prints what to paste into yours"
	}
	return s
}

func examineEntries(s *section, f imports.EditorFile, where string, text []byte) {
	entries, err := f.Entries(text)
	if err != nil {
		if line := lineOf(text, "dragoman"); line > 0 {
			s.add(wrong, "%s mentions dragoman (line %d) and cannot be read: %v", where, line, err)
		}
		return
	}
	var others []string
	for _, e := range entries {
		if !e.Ours() {
			others = append(others, e.Name)
			continue
		}
		if problem, hint := e.Problem(); problem != "" {
			s.add(wrong, "%s: %s: %s", where, e.Name, problem).hint = hint
		} else {
			s.add(fine, "%s starts %s", where, strings.Join(append([]string{e.Command}, e.Args...), " "))
		}
	}
	if len(others) > 0 {
		s.add(plain, "%s starts others: %s", where, strings.Join(others, ", "))
	}
}

// lineOf returns the 1-based line of the first occurrence of a word; 0: none.
func lineOf(text []byte, word string) int {
	before, _, found := strings.Cut(strings.ToLower(string(text)), word)
	if !found {
		return 0
	}
	return strings.Count(before, "\n") + 1
}

// short writes a path below the home folder with a ~.
func short(path, home string) string {
	if rel, err := filepath.Rel(home, path); home != "" && err == nil && filepath.IsLocal(rel) {
		return filepath.Join("~", rel)
	}
	return path
}
