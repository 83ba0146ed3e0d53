// Package judge finds out what a tool call of an agent would do, as rules see it, from the agent's own
// description, whatever protocol that came in.
package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/bridge/agent/paths"
	"dragoman/bridge/agent/rawinput"
	"dragoman/core"
	"dragoman/core/files"
)

// Call is a call of a tool of the agent's own, as the agent describes it.
type Call struct {
	Name      string // the agent's name of its tool; "": it has given none
	Server    string // the agent's MCP server whose tool it is; "": it is the agent's own, or the input names one
	Kind      core.CallKind
	Title     string
	Input     json.RawMessage // the arguments
	Commands  []string        // command lines that it shows besides its input
	Locations []string        // files on which it works
	Changed   []string        // files of the changes that it shows
	Folder    string          // the folder of its command, if only a text has it
}

// Judged is a call as rules see it: by what it does, whatever the agent calls its tool.
type Judged struct {
	Spec   core.Spec
	Access []core.Access
}

// Judge judges the calls of an agent's session.
type Judge struct {
	Agent  string // its name
	Paths  paths.Mapping
	Far    bool // it runs elsewhere
	Places *files.Workspace
	Cwd    string // the session's folder
}

// Our own tools, as which calls of agents are Judged.
const (
	ShellTool = "shell_command"
	ReadTool  = "read_file"
	WriteTool = "write_file"
	grepTool  = "grep"
	fetchTool = "web_fetch"
)

// maxTouched limits the files of a call that are looked at.
const maxTouched = 500

// Of finds out what a call would do. A command counts wherever it is, a change to a file also:
// an agent's description of a call as harmless does not make it so. Where the description has more
// than can be Judged, the rules for the agent's own tools hold, by which a person is asked.
func (c Judge) Of(r Call) Judged {
	in := rawinput.Of(r.Input)
	own := core.Spec{Server: c.Agent, Name: r.Name, Kind: r.Kind}
	j := Judged{Spec: own}
	if server, tool, ok := in.OnServer(); ok && len(r.Changed) == 0 && len(r.Locations) == 0 {
		j.Spec.Server, j.Spec.Name = server, tool
		return j
	}
	if r.Server != "" && r.Server != core.Native && len(r.Changed) == 0 && len(r.Locations) == 0 && len(r.Commands) == 0 {
		j.Spec.Server = r.Server
		return j
	}
	lines := commandsOf(r, in)
	c.judgeCommands(&j, r, in, lines)
	c.judgeFiles(&j, r, in, len(lines) > 0)
	for _, at := range addresses(r, in) {
		j.become(Native(fetchTool, core.KindFetch))
		j.Access = append(j.Access, core.Access{Op: core.OpNet, URL: at})
	}
	if in.Hidden && len(lines) == 0 || len(j.Access) > maxTouched {
		j.Spec, j.Access = own, append(j.Access, core.Access{Op: core.OpWrite}) // of something: no answer about it can be kept
	}
	return j
}

// judgeCommands adds the commands of a call, in each of the folders that it names.
func (c Judge) judgeCommands(j *Judged, r Call, in rawinput.Input, lines []string) {
	dirs := in.Folders()
	if len(dirs) == 0 {
		dirs = []string{r.Folder}
	}
	for _, line := range lines {
		j.Spec = Native(ShellTool, core.KindExecute)
		for _, dir := range dirs {
			j.Access = append(j.Access, c.Runs(line, dir))
		}
	}
}

// judgeFiles adds the files of a call. Those of a call that may do anything with them are changed, but
// for one that runs, fetches or thinks, which touches them besides.
func (c Judge) judgeFiles(j *Judged, r Call, in rawinput.Input, runs bool) {
	kind := r.Kind
	changed := slices.Concat(r.Changed, in.Changes())
	paths := in.Files(kind)
	paths = append(paths, r.Locations...)
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
	op, as := core.OpWrite, Native(WriteTool, core.KindEdit)
	switch kind {
	case core.KindRead, core.KindSearch:
		op, as = core.OpRead, Native(ReadTool, core.KindRead)
		paths, folders = slices.Concat(paths, folders, in.Reaches(c.Far)), nil
		if kind == core.KindSearch {
			as = Native(grepTool, core.KindSearch)
			if len(paths) == 0 {
				paths = []string{c.Paths.There(c.Cwd)}
			}
		}
	case core.KindEdit, core.KindDelete, core.KindMove:
		paths = append(paths, in.Reaches(c.Far)...)
	case core.KindExecute, core.KindFetch, core.KindThink:
		paths, folders = nil, slices.Concat(paths, folders)
	case core.KindOther:
	}
	c.touches(j, op, as, paths, changed...)
	c.touches(j, core.OpRead, core.Spec{}, folders, changed...)
	c.touches(j, core.OpWrite, Native(WriteTool, core.KindEdit), changed)
}

// Native returns one of our own tools.
func Native(tool string, kind core.CallKind) core.Spec {
	return core.Spec{Server: core.Native, Name: tool, Kind: kind}
}

// become has the call Judged as one of our own tools. The first finding counts, and the gravest is
// first; a read gives way to a write.
func (j *Judged) become(s core.Spec) {
	if j.Spec.Server != core.Native || j.Spec.Kind == core.KindRead || j.Spec.Kind == core.KindSearch {
		j.Spec = s
	}
}

// touches adds accesses to files, as those of one of our own tools; the zero Spec: whatever the call is.
// A path that we cannot follow is outside of the workspace. Each counts once, and those of except do not.
func (c Judge) touches(j *Judged, op core.AccessOp, as core.Spec, paths []string, except ...string) {
	seen := map[string]bool{}
	for _, path := range except {
		seen[path] = true
	}
	for _, path := range paths {
		if seen[path] {
			continue
		}
		if len(j.Access) > maxTouched {
			return
		}
		seen[path] = true
		if as.Name != "" {
			j.become(as)
		}
		access := core.Access{Op: op, Path: c.Paths.Here(path), Outside: true}
		if p, err := c.Reached(path); err == nil {
			access = p.Access(op)
			access.Linked = op == core.OpRead && !access.Outside && p.Linked()
		}
		j.Access = append(j.Access, access)
	}
}

// Reached finds the place that a path of the agent's leads to. Behind a symbolic link, ".." is the
// folder above the link's target, as it is for the programs that open the path.
func (c Judge) Reached(path string) (files.Place, error) {
	path, ok := rawinput.Spelled(path)
	if !ok {
		return files.Place{}, fmt.Errorf("%q is no path of a file", path)
	}
	path = filepath.ToSlash(c.Paths.Here(path))
	if !filepath.IsAbs(path) {
		path = filepath.ToSlash(c.Cwd) + "/" + path
	}
	for {
		before, rest, ok := strings.Cut(path+"/", "/../")
		if !ok {
			return c.Places.At(filepath.FromSlash(path))
		}
		p, err := c.Places.At(filepath.FromSlash(before + "/"))
		if err != nil {
			return p, err
		}
		path = strings.TrimSuffix(filepath.ToSlash(filepath.Dir(p.Real))+"/"+rest, "/")
	}
}

// Runs returns the access of a command line in a folder; "": the session's.
func (c Judge) Runs(line, dir string) core.Access {
	a := core.Access{Op: core.OpRun, Path: c.Paths.Here(cmp.Or(dir, c.Paths.There(c.Cwd))), Outside: true}
	if p, err := c.Reached(cmp.Or(dir, c.Paths.There(c.Cwd))); err == nil {
		a = p.Access(core.OpRun)
	}
	a.Command = line
	return a
}

// commandsOf lists the command lines that a call would run. Some agents have it only as the title of
// a call of kind execute. What an input of such a call has besides is a line that no rule allows.
func commandsOf(r Call, in rawinput.Input) []string {
	list, executes := in.Commands, r.Kind == core.KindExecute
	if len(list) == 0 {
		list = r.Commands
	}
	if len(list) == 0 && executes {
		if line := strings.TrimSpace(r.Title); line != "" {
			list = []string{line}
		}
	}
	if in.Hidden && len(list) > 0 || executes && len(in.Commands) == 0 && len(r.Commands) == 0 && rawinput.Says(in.Raw) {
		list = append(list[:len(list):len(list)], string(in.Raw))
	}
	return list
}

// addresses lists the addresses that a call would fetch. Some agents have them only in a text of a
// call of kind fetch.
func addresses(r Call, in rawinput.Input) []string {
	fetches := r.Kind == core.KindFetch
	list := in.Addresses(false)
	if fetches && r.Title != "" && len(list) == 0 {
		list = rawinput.AddressesIn(r.Title)
	}
	if fetches {
		list = append(list, in.Addresses(true)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Line returns the command lines that a call would run, one a line; "": none.
func (j Judged) Line() string {
	var lines []string
	for _, a := range j.Access {
		if a.Op == core.OpRun {
			lines = append(lines, a.Command)
		}
	}
	return strings.Join(lines, "\n")
}

// Titled returns the title of a call for people. It shows the command line, whatever the agent
// calls it.
func Titled(title, line string) string {
	switch {
	case line == "" || strings.Contains(title, line):
		return title
	case title == "":
		return line
	}
	return title + ": " + line
}
