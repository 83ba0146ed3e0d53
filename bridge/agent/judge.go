package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/jsonscan"
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

// input is what agents put into rawInput: the members of an object, by their exact names. One that
// is written in another case is another member, and another value would be judged than is used.
type input map[string]json.RawMessage

// The names of members by which agents' own tools run commands, touch files and fetch.
var (
	commandNames = []string{"command", "cmd"}
	folderNames  = []string{"cwd", "workdir"}
	fileNames    = []string{"file_path", "filePath", "filepath", "path", "paths", "absolute_path", "notebook_path"}
)

const (
	addressName = "url"
	changesName = "changes"
)

// effects lists the names of all members by which a call has an effect.
func effects() []string {
	return slices.Concat(commandNames, folderNames, fileNames, []string{addressName, changesName})
}

// texts returns the texts in a member: one, or a list of them.
func (in input) texts(name string) (list []string) {
	if text := jsonscan.Text(in[name]); text != "" {
		return []string{text}
	}
	var items []json.RawMessage
	_ = json.Unmarshal(in[name], &items) // another form has none
	for _, item := range items {
		if text := jsonscan.Text(item); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// folder returns the folder of a command; "": the input names none.
func (in input) folder() string {
	for _, name := range folderNames {
		if text := jsonscan.Text(in[name]); text != "" {
			return text
		}
	}
	return ""
}

// changes lists the files that the input changes.
func (in input) changes() []string { return slices.Sorted(maps.Keys(wire.Object(in[changesName]))) }

// files lists the files that the input names.
func (in input) files() (list []string) {
	for _, name := range fileNames {
		list = append(list, in.texts(name)...)
	}
	return append(list, in.changes()...)
}

// onServer returns the tool of an MCP server of the agent's own that the input calls. With other
// members it is the input of another tool, whatever it contains besides.
func (in input) onServer() (server, tool string, ok bool) {
	server, tool = jsonscan.Text(in["server"]), jsonscan.Text(in["tool"])
	return server, tool, server != "" && server != core.Native && tool != "" && only(in, "server", "tool", "arguments")
}

// judge finds out what a call would do. A command counts wherever it is, a change to a file also:
// an agent's description of a call as harmless does not make it so.
func (c *conversation) judge(r rawCall) judged {
	in := input(wire.Object(bytes.TrimSpace(r.RawInput))) // a rawInput of another form says nothing
	j := judged{spec: core.Spec{Server: c.b.o.Name, Name: toolName(r), Kind: kindOf(r.Kind)}}
	if server, tool, ok := in.onServer(); ok && !r.changes() {
		j.spec.Server, j.spec.Name = server, tool
		return j
	}
	for _, line := range commandsOf(r, in) {
		j.spec = native(shellTool, core.KindExecute)
		j.access = append(j.access, c.runs(line, cmp.Or(in.folder(), folderOf(r))))
	}
	changed := map[string]bool{}
	for _, path := range slices.Concat(r.changed(), in.changes()) {
		changed[path] = true
	}
	paths := in.files()
	for _, l := range r.Locations {
		paths = append(paths, l.Path)
	}
	op, tool, kind := core.OpWrite, writeTool, core.KindEdit
	switch kindOf(r.Kind) {
	case core.KindRead:
		op, tool, kind = core.OpRead, readTool, core.KindRead
	case core.KindSearch:
		op, tool, kind = core.OpRead, grepTool, core.KindSearch
		if len(paths) == 0 {
			paths = []string{c.b.paths.there(c.bind.Meta.Cwd)}
		}
	case core.KindExecute, core.KindFetch, core.KindThink: // their locations are what they may touch
		paths = nil
	case core.KindEdit, core.KindDelete, core.KindMove, core.KindOther:
	}
	for _, path := range paths {
		if changed[path] {
			continue
		}
		c.touches(&j, op, native(tool, kind), path)
	}
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		c.touches(&j, core.OpWrite, native(writeTool, core.KindEdit), path)
	}
	for _, at := range addresses(r, in) {
		j.become(native(fetchTool, core.KindFetch))
		j.access = append(j.access, core.Access{Op: core.OpNet, URL: at})
	}
	return j
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

// touches adds an access to a file. A path that we cannot follow is outside of the workspace.
func (c *conversation) touches(j *judged, op core.AccessOp, as core.Spec, path string) {
	j.become(as)
	path = c.b.paths.here(spelled(path))
	access := core.Access{Op: op, Path: path, Outside: true}
	if p, err := c.places.At(path); err == nil {
		access = p.Access(op)
	}
	j.access = append(j.access, access)
}

// spelled returns the path of a file address, and of one in the home folder: agents take both.
func spelled(path string) string {
	if u, err := url.Parse(path); err == nil && strings.EqualFold(u.Scheme, "file") && u.Path != "" {
		return u.Path
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
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
	at := c.bind.Meta.Cwd
	if dir != "" {
		if at = c.b.paths.here(dir); !filepath.IsAbs(at) {
			at = filepath.Join(c.bind.Meta.Cwd, at)
		}
	}
	a := core.Access{Op: core.OpRun, Path: at}
	if p, err := c.places.At(at); err == nil {
		a = p.Access(core.OpRun)
	}
	a.Command = line
	return a
}

// commandsOf lists the command lines that a call would run. Some agents have it only as the title of
// a call of kind execute.
func commandsOf(r rawCall, in input) (list []string) {
	args := in.texts("args")
	for _, name := range commandNames {
		if line := lineIn(in[name]); line != "" {
			if len(args) > 0 {
				line += " " + shell.Quote(args...)
			}
			list = append(list, line)
		}
	}
	if len(list) == 0 && r.Kind == acp.ToolKind(core.KindExecute) && r.Title != nil {
		if line := strings.TrimSpace(*r.Title); line != "" {
			return []string{line}
		}
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
		for _, name := range slices.Sorted(maps.Keys(in)) {
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
