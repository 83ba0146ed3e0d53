package agent

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
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

// input is what agents put into rawInput, under the names that they use.
type input struct {
	Command json.RawMessage            `json:"command"`
	Cmd     json.RawMessage            `json:"cmd"`
	Cwd     string                     `json:"cwd"`
	Workdir string                     `json:"workdir"`
	URL     string                     `json:"url"`
	Changes map[string]json.RawMessage `json:"changes"`
	Server  string                     `json:"server"`
	Tool    string                     `json:"tool"`

	FilePath     string `json:"file_path"`
	FilePathB    string `json:"filePath"`
	FilePathC    string `json:"filepath"`
	Path         string `json:"path"`
	AbsolutePath string `json:"absolute_path"`
	Notebook     string `json:"notebook_path"`
}

// files lists the files that the input names.
func (in input) files() (list []string) {
	for _, path := range []string{in.FilePath, in.FilePathB, in.FilePathC, in.Path, in.AbsolutePath, in.Notebook} {
		if path != "" {
			list = append(list, path)
		}
	}
	return append(list, slices.Sorted(maps.Keys(in.Changes))...)
}

// judge finds out what a call would do. A command counts wherever it is, a change to a file also:
// an agent's description of a call as harmless does not make it so.
func (c *conversation) judge(r rawCall) judged {
	var in input
	_ = json.Unmarshal(r.RawInput, &in) // a rawInput of another form says nothing
	j := judged{spec: core.Spec{Server: c.b.o.Name, Name: toolName(r), Kind: kindOf(r.Kind)}}
	if in.Server != "" && in.Tool != "" { // a tool of an MCP server of the agent's own
		j.spec.Server, j.spec.Name = in.Server, in.Tool
		return j
	}
	if line := commandOf(r, in); line != "" {
		j.spec = native(shellTool, core.KindExecute)
		j.access = append(j.access, c.runs(line, cmp.Or(in.Cwd, in.Workdir, folderOf(r))))
	}
	changed := map[string]bool{}
	if r.Content != nil {
		for _, t := range *r.Content {
			if t.Type == "diff" {
				changed[t.Path] = true
			}
		}
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
	for path := range maps.Keys(in.Changes) {
		changed[path] = true
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
	for _, url := range addresses(r, in) {
		j.become(native(fetchTool, core.KindFetch))
		j.access = append(j.access, core.Access{Op: core.OpNet, URL: url})
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

// touches adds an access to a file.
func (c *conversation) touches(j *judged, op core.AccessOp, as core.Spec, path string) {
	p, err := c.places.At(c.b.paths.here(path))
	if err != nil { // no path at all: it is asked about as the agent's own tool
		return
	}
	j.become(as)
	j.access = append(j.access, p.Access(op))
}

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

// commandOf returns the command line that a call would run; "": none. Some agents have it only as
// the title of a call of kind execute.
func commandOf(r rawCall, in input) string {
	for _, raw := range []json.RawMessage{in.Command, in.Cmd} {
		var line string
		if json.Unmarshal(raw, &line) == nil && strings.TrimSpace(line) != "" {
			return line
		}
		var words []string
		if json.Unmarshal(raw, &words) == nil && len(words) > 0 {
			return lineOf(words)
		}
	}
	if r.Kind == acp.ToolKind(core.KindExecute) && r.Title != nil {
		return strings.TrimSpace(*r.Title)
	}
	return ""
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
		name := words[0][strings.LastIndexByte(words[0], '/')+1:]
		if slices.Contains([]string{"bash", "sh", "zsh", "dash"}, name) {
			return words[2]
		}
	}
	return shell.Quote(words...)
}

var address = regexp.MustCompile(`https?://[^\s"'<>)\]]+`)

// addresses lists the addresses that a call would fetch.
func addresses(r rawCall, in input) []string {
	if in.URL != "" {
		return []string{in.URL}
	}
	if r.Kind == acp.ToolKind(core.KindFetch) && r.Title != nil {
		return address.FindAllString(*r.Title, -1)
	}
	return nil
}

// line returns the command line that a call would run; "": none.
func (j judged) line() string {
	for _, a := range j.access {
		if a.Op == core.OpRun {
			return a.Command
		}
	}
	return ""
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
