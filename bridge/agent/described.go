package agent

import (
	"regexp"
	"sync"

	"dragoman/bridge/agent/judge"
)

// judging returns the judge of the session's calls.
func (c *conversation) judging() judge.Judge {
	return judge.Judge{Agent: c.b.o.Name, Paths: c.b.paths.Mapping, Far: len(c.b.o.Paths) > 0, Places: c.places, Cwd: c.bind.Meta.Cwd}
}

// neutral returns the description of a call in no protocol's form.
func (r rawCall) neutral() judge.Call {
	call := judge.Call{Name: ownName(r), Kind: kindOf(r.Kind), Input: r.RawInput, Changed: r.changed(), Folder: folderOf(r)}
	if r.Title != nil {
		call.Title = *r.Title
	}
	for _, l := range r.Locations {
		call.Locations = append(call.Locations, l.Path)
	}
	return call
}

// changed lists the files of the changes that a call shows.
func (r rawCall) changed() (list []string) {
	if r.Content == nil {
		return nil
	}
	for _, t := range *r.Content {
		if t.Type == "diff" {
			list = append(list, t.Path)
		}
	}
	return list
}

// changes reports whether a call shows a change of a file.
func (r rawCall) changes() bool { return len(r.changed()) > 0 }

// inFolder matches the folder that Gemini writes in front of a command's description if the command does not
// run in the session's folder.
var inFolder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[in ([^\]]+)\]`) })

// folderOf returns the folder of a command that is named only in a text; "": none is.
func folderOf(r rawCall) string {
	if r.Content == nil {
		return ""
	}
	for _, t := range *r.Content {
		if t.Content != nil && t.Content.Text != nil {
			if m := inFolder().FindStringSubmatch(*t.Content.Text); m != nil {
				return m[1]
			}
		}
	}
	return ""
}
