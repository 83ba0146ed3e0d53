package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/files"
	"dragoman/core/fileuri"
	"dragoman/core/shell"
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
	in := inputOf(r.RawInput)
	own := core.Spec{Server: c.b.o.Name, Name: ownName(r), Kind: kindOf(r.Kind)}
	j := judged{spec: own}
	if server, tool, ok := in.onServer(); ok && !r.changes() && len(r.Locations) == 0 {
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
	if in.hidden && len(lines) == 0 || len(j.access) > maxTouched {
		j.spec, j.access = own, append(j.access, core.Access{Op: core.OpWrite}) // of something: no answer about it can be kept
	}
	return j
}

// judgeCommands adds the commands of a call, in each of the folders that it names.
func (c *conversation) judgeCommands(j *judged, r rawCall, in input, lines []string) {
	dirs := in.folders()
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
func (c *conversation) judgeFiles(j *judged, r rawCall, in input, runs bool) {
	kind := kindOf(r.Kind)
	changed := distinct(append(r.changed(), in.changes()...))
	paths := in.files(kind)
	for _, l := range r.Locations {
		paths = append(paths, l.Path)
	}
	folders := in.folders()
	for _, path := range paths[:len(paths):len(paths)] {
		for _, dir := range folders { // it may be relative to that
			if at, ok := spelled(path); ok && !filepath.IsAbs(at) {
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
		paths, folders = slices.Concat(paths, folders, in.reaches(len(c.b.o.Paths) > 0)), nil
		if kind == core.KindSearch {
			as = native(grepTool, core.KindSearch)
			if len(paths) == 0 {
				paths = []string{c.b.paths.there(c.bind.Meta.Cwd)}
			}
		}
	case core.KindEdit, core.KindDelete, core.KindMove:
		paths = append(paths, in.reaches(len(c.b.o.Paths) > 0)...)
	case core.KindExecute, core.KindFetch, core.KindThink:
		paths, folders = nil, slices.Concat(paths, folders)
	case core.KindOther:
	}
	without := func(path string) bool { return slices.Contains(changed, path) }
	c.touches(j, op, as, slices.DeleteFunc(distinct(paths), without))
	c.touches(j, core.OpRead, core.Spec{}, slices.DeleteFunc(distinct(folders), without))
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
// A path that we cannot follow is outside of the workspace.
func (c *conversation) touches(j *judged, op core.AccessOp, as core.Spec, paths []string) {
	for _, path := range paths {
		if len(j.access) > maxTouched {
			return
		}
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
	path, ok := spelled(path)
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

// spelled returns the path of a file address, and of one in the home folder: agents take both. It
// reports false for what may be any file, or none of this machine's.
func spelled(path string) (string, bool) {
	path = strings.TrimSpace(path)
	if len(path) >= 5 && strings.EqualFold(path[:5], "file:") {
		at, err := fileuri.Path(path)
		return at, err == nil
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		home, err := os.UserHomeDir()
		return filepath.Join(home, rest), err == nil && (rest == "" || rest[0] == '/')
	}
	return path, path != "" && path[0] != '$' && !strings.Contains(path, "://")
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
func commandsOf(r rawCall, in input) []string {
	list, executes := in.commands, kindOf(r.Kind) == core.KindExecute
	if len(list) == 0 && executes && r.Title != nil {
		if line := strings.TrimSpace(*r.Title); line != "" {
			list = []string{line}
		}
	}
	if in.hidden && len(list) > 0 || executes && len(in.commands) == 0 && says(in.raw) {
		list = append(list[:len(list):len(list)], string(in.raw))
	}
	return list
}

// lineIn returns the command line in a member: a text, or a list of words. Of another form it
// returns the JSON, which no rule allows.
func lineIn(raw json.RawMessage) string {
	var line string
	if !says(raw) || string(raw) == "[]" || json.Unmarshal(raw, &line) == nil {
		return strings.TrimSpace(line)
	}
	var words []string
	if json.Unmarshal(raw, &words) == nil {
		return lineOf(words)
	}
	return string(raw)
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

// lineOf returns the line that words run: what a shell is given, or the words themselves.
func lineOf(words []string) string {
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") {
		name := strings.TrimPrefix(strings.TrimPrefix(words[0], "/usr"), "/bin/") // a shell elsewhere may be anything
		if slices.Contains([]string{"bash", "sh", "zsh", "dash"}, name) {
			return words[2]
		}
	}
	return shell.Quote(words...)
}

var address = regexp.MustCompile(`https?://[^\s"'<>)\]]+`)

// addresses lists the addresses that a call would fetch. Some agents have them only in a text of a
// call of kind fetch.
func addresses(r rawCall, in input) []string {
	list := in.texts(addressName)
	if r.Kind == acp.ToolKind(core.KindFetch) {
		if r.Title != nil && len(list) == 0 {
			list = append(list, address.FindAllString(*r.Title, -1)...)
		}
		for _, name := range slices.Sorted(maps.Keys(in.all)) {
			for _, text := range in.texts(name) {
				if name != addressName {
					list = append(list, address.FindAllString(text, -1)...)
				}
			}
		}
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
