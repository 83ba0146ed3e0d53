package agent

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dragoman/bridge/agent/rawinput"
	"dragoman/core"
	"dragoman/core/files"
)

// judged is a call as rules see it: by what it does, whatever the agent calls its tool.
type judged struct {
	spec   core.Spec
	access []core.Access
}

// Our own tools, as which calls of agents are judged.
const (
	shellTool = "shell_command"
	readTool  = "read_file"
	writeTool = "write_file"
	grepTool  = "grep"
	fetchTool = "web_fetch"
)

// maxTouched limits the files of a call that are looked at.
const maxTouched = 500

// judge finds out what a call would do. A command counts wherever it is, a change to a file also:
// an agent's description of a call as harmless does not make it so. Where the description has more
// than can be judged, the rules for the agent's own tools hold, by which a person is asked.
func (c *conversation) judge(r rawCall) judged {
	in := rawinput.Of(r.RawInput)
	own := core.Spec{Server: c.b.o.Name, Name: ownName(r), Kind: kindOf(r.Kind)}
	j := judged{spec: own}
	if server, tool, ok := in.OnServer(); ok && !r.changes() && len(r.Locations) == 0 {
		j.spec.Server, j.spec.Name = server, tool
		return j
	}
	lines := commandsOf(r, in)
	c.judgeCommands(&j, r, in, lines)
	c.judgeFiles(&j, r, in, len(lines) > 0)
	for _, at := range addresses(r, in) {
		j.become(native(fetchTool, core.KindFetch))
		j.access = append(j.access, core.Access{Op: core.OpNet, URL: at})
	}
	if in.Hidden && len(lines) == 0 || len(j.access) > maxTouched {
		j.spec, j.access = own, append(j.access, core.Access{Op: core.OpWrite}) // of something: no answer about it can be kept
	}
	return j
}

// judgeCommands adds the commands of a call, in each of the folders that it names.
func (c *conversation) judgeCommands(j *judged, r rawCall, in rawinput.Input, lines []string) {
	dirs := in.Folders()
	if len(dirs) == 0 {
		dirs = []string{folderOf(r)}
	}
	for _, line := range lines {
		j.spec = native(shellTool, core.KindExecute)
		for _, dir := range dirs {
			j.access = append(j.access, c.runs(line, dir))
		}
	}
}

// judgeFiles adds the files of a call. Those of a call that may do anything with them are changed, but
// for one that runs, fetches or thinks, which touches them besides.
func (c *conversation) judgeFiles(j *judged, r rawCall, in rawinput.Input, runs bool) {
	kind := kindOf(r.Kind)
	changed := append(r.changed(), in.Changes()...)
	paths := in.Files(kind)
	for _, l := range r.Locations {
		paths = append(paths, l.Path)
	}
	folders := in.Folders()
	for _, path := range paths[:len(paths):len(paths)] {
		for _, dir := range folders { // it may be relative to that
			if at, ok := rawinput.Spelled(path); ok && !filepath.IsAbs(at) && len(paths) <= maxTouched {
				paths = append(paths, dir+"/"+at)
			}
		}
	}
	if runs { // in these folders
		folders = nil
	}
	op, as := core.OpWrite, native(writeTool, core.KindEdit)
	switch kind {
	case core.KindRead, core.KindSearch:
		op, as = core.OpRead, native(readTool, core.KindRead)
		paths, folders = slices.Concat(paths, folders, in.Reaches(len(c.b.o.Paths) > 0)), nil
		if kind == core.KindSearch {
			as = native(grepTool, core.KindSearch)
			if len(paths) == 0 {
				paths = []string{c.b.paths.there(c.bind.Meta.Cwd)}
			}
		}
	case core.KindEdit, core.KindDelete, core.KindMove:
		paths = append(paths, in.Reaches(len(c.b.o.Paths) > 0)...)
	case core.KindExecute, core.KindFetch, core.KindThink:
		paths, folders = nil, slices.Concat(paths, folders)
	case core.KindOther:
	}
	c.touches(j, op, as, paths, changed...)
	c.touches(j, core.OpRead, core.Spec{}, folders, changed...)
	c.touches(j, core.OpWrite, native(writeTool, core.KindEdit), changed)
}

func native(tool string, kind core.CallKind) core.Spec {
	return core.Spec{Server: core.Native, Name: tool, Kind: kind}
}

// become has the call judged as one of our own tools. The first finding counts, and the gravest is
// first; a read gives way to a write.
func (j *judged) become(s core.Spec) {
	if j.spec.Server != core.Native || j.spec.Kind == core.KindRead || j.spec.Kind == core.KindSearch {
		j.spec = s
	}
}

// touches adds accesses to files, as those of one of our own tools; the zero Spec: whatever the call is.
// A path that we cannot follow is outside of the workspace. Each counts once, and those of except do not.
func (c *conversation) touches(j *judged, op core.AccessOp, as core.Spec, paths []string, except ...string) {
	seen := map[string]bool{}
	for _, path := range except {
		seen[path] = true
	}
	for _, path := range paths {
		if seen[path] {
			continue
		}
		if len(j.access) > maxTouched {
			return
		}
		seen[path] = true
		if as.Name != "" {
			j.become(as)
		}
		access := core.Access{Op: op, Path: c.b.paths.here(path), Outside: true}
		if p, err := c.reached(path); err == nil {
			access = p.Access(op)
			access.Linked = op == core.OpRead && !access.Outside && p.Linked()
		}
		j.access = append(j.access, access)
	}
}

// reached finds the place that a path of the agent's leads to. Behind a symbolic link, ".." is the
// folder above the link's target, as it is for the programs that open the path.
func (c *conversation) reached(path string) (files.Place, error) {
	path, ok := rawinput.Spelled(path)
	if !ok {
		return files.Place{}, fmt.Errorf("%q is no path of a file", path)
	}
	path = filepath.ToSlash(c.b.paths.here(path))
	if !filepath.IsAbs(path) {
		path = filepath.ToSlash(c.bind.Meta.Cwd) + "/" + path
	}
	for {
		before, rest, ok := strings.Cut(path+"/", "/../")
		if !ok {
			return c.places.At(filepath.FromSlash(path))
		}
		p, err := c.places.At(filepath.FromSlash(before + "/"))
		if err != nil {
			return p, err
		}
		path = strings.TrimSuffix(filepath.ToSlash(filepath.Dir(p.Real))+"/"+rest, "/")
	}
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

// runs returns the access of a command line in a folder; "": the session's.
func (c *conversation) runs(line, dir string) core.Access {
	a := core.Access{Op: core.OpRun, Path: c.b.paths.here(cmp.Or(dir, c.b.paths.there(c.bind.Meta.Cwd))), Outside: true}
	if p, err := c.reached(cmp.Or(dir, c.b.paths.there(c.bind.Meta.Cwd))); err == nil {
		a = p.Access(core.OpRun)
	}
	a.Command = line
	return a
}

// commandsOf lists the command lines that a call would run. Some agents have it only as the title of
// a call of kind execute. What an input of such a call has besides is a line that no rule allows.
func commandsOf(r rawCall, in rawinput.Input) []string {
	list, executes := in.Commands, kindOf(r.Kind) == core.KindExecute
	if len(list) == 0 && executes && r.Title != nil {
		if line := strings.TrimSpace(*r.Title); line != "" {
			list = []string{line}
		}
	}
	if in.Hidden && len(list) > 0 || executes && len(in.Commands) == 0 && rawinput.Says(in.Raw) {
		list = append(list[:len(list):len(list)], string(in.Raw))
	}
	return list
}

// inFolder is how Gemini names the folder of a command, in front of its description, if that is not
// the session's.
var inFolder = regexp.MustCompile(`^\[in ([^\]]+)\]`)

// folderOf returns the folder of a command that is named only in a text; "": none is.
func folderOf(r rawCall) string {
	if r.Content == nil {
		return ""
	}
	for _, t := range *r.Content {
		if t.Content != nil && t.Content.Text != nil {
			if m := inFolder.FindStringSubmatch(*t.Content.Text); m != nil {
				return m[1]
			}
		}
	}
	return ""
}

// addresses lists the addresses that a call would fetch. Some agents have them only in a text of a
// call of kind fetch.
func addresses(r rawCall, in rawinput.Input) []string {
	fetches := kindOf(r.Kind) == core.KindFetch
	list := in.Addresses(false)
	if fetches && r.Title != nil && len(list) == 0 {
		list = rawinput.AddressesIn(*r.Title)
	}
	if fetches {
		list = append(list, in.Addresses(true)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// line returns the command lines that a call would run, one a line; "": none.
func (j judged) line() string {
	var lines []string
	for _, a := range j.access {
		if a.Op == core.OpRun {
			lines = append(lines, a.Command)
		}
	}
	return strings.Join(lines, "\n")
}

// titled returns the title of a call for people. It shows the command line, whatever the agent
// calls it.
func titled(title, line string) string {
	switch {
	case line == "" || strings.Contains(title, line):
		return title
	case title == "":
		return line
	}
	return title + ": " + line
}
