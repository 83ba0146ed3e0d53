package tools

import (
	"cmp"
	"encoding/json"

	"dragoman/core"
	"dragoman/core/files"
)

// Describe implements core.Describer: what a call is about, as far as its arguments say it. No file is
// opened. Arguments that are wrong or missing are left out.
func (t *tool) Describe(raw json.RawMessage) core.Preview {
	a, err := parseArgs(raw)
	if err != nil {
		return core.Preview{}
	}
	about := t.set.about
	switch t.spec {
	case &readSpec:
		return about("Read ", label, a.optText("path", ""))
	case &treeSpec:
		return about("List ", label, a.optText("path", "."))
	case &writeSpec:
		return about("Write ", plainLabel, a.optText("path", ""))
	case &editSpec:
		return about("Edit ", plainLabel, a.optText("path", ""))
	case &moveSpec:
		from, to := about("Move ", label, a.optText("from", "")), about(" to ", label, a.optText("to", ""))
		if from.Title == "" || to.Title == "" {
			return from
		}
		return core.Preview{Title: from.Title + to.Title, Locations: append(from.Locations, to.Locations...)}
	case &globSpec:
		return quoted("Find ", a.optText("pattern", ""))
	case &grepSpec:
		return quoted("Search ", a.optText("pattern", ""))
	case &fetchSpec:
		return quoted("Fetch ", a.optText("url", ""))
	}
	line := a.optText("command", "")
	if _, sh := t.set.box.shell(); line == "" || t.native != sh {
		return core.Preview{}
	}
	p := files.Place{Show: "."}
	if cwd := a.optText("cwd", "."); cwd != "." {
		p.Show = cwd
	}
	pv := core.Preview{Title: shellTitle(line, p, a.boolean("background", false))}
	pv.Content = shellContent(line, cmp.Or(a.optText("description", ""), a.optText("summary", "")), t.set.shell.Name)
	return pv
}

// about describes a call about a file.
func (s *toolset) about(verb string, name func(string) string, path string) core.Preview {
	if path == "" {
		return core.Preview{}
	}
	p, err := s.files.Source(path)
	if err != nil {
		return core.Preview{Title: verb + name(path)}
	}
	return core.Preview{Title: verb + name(p.Show), Locations: p.Locations(0)}
}

// quoted describes a call about something else.
func quoted(verb, what string) core.Preview {
	if what == "" {
		return core.Preview{}
	}
	return core.Preview{Title: verb + codeInTitle(what)}
}
