package ecaserver

import (
	"encoding/json"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/paths"
	"dragoman/core"
	"dragoman/core/display"
)

// details are the details of a call: the union of all types.
type details struct {
	Type string `json:"type"`

	Path         string `json:"path"` // fileChange
	Diff         string `json:"diff"`
	LinesAdded   int    `json:"linesAdded"`
	LinesRemoved int    `json:"linesRemoved"`

	JSONs []string `json:"jsons"` // jsonOutputs

	Commands []struct { // shellCommand
		Command string   `json:"command"`
		Args    []string `json:"args"`
	} `json:"commands"`

	SubagentChatID string `json:"subagentChatId"` // subagent
	AgentName      string `json:"agentName"`
	Model          string `json:"model"`

	Tasks         []eca.TaskItem `json:"tasks"` // task
	ActiveSummary string         `json:"activeSummary"`
}

// detailsOf reads the details of a call. Those of another form say nothing.
func detailsOf(raw json.RawMessage) (d details) {
	if wire.Unmarshal(raw, &d) != nil {
		return details{}
	}
	return d
}

// metaOf returns the details of a call as they are kept for clients of the same protocol.
func metaOf(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxForeign {
		return nil
	}
	return wire.JSON(map[string]any{protocol: map[string]any{"details": raw}})
}

// changed returns the file that the call changes; "": none.
func (d details) changed() string {
	if d.Type != eca.TypeFileChange {
		return ""
	}
	return d.Path
}

// blocks returns the change that a call shows.
func (d details) blocks(m paths.Mapping) []core.Block {
	if d.Type != eca.TypeFileChange || d.Path == "" {
		return nil
	}
	is := core.Diff{Path: m.Here(d.Path), Patch: d.Diff, Added: max(d.LinesAdded, 0), Removed: max(d.LinesRemoved, 0)}
	is.Old, is.New = sides(d.Diff)
	is.Created = is.Old == "" && is.New != ""
	return []core.Block{is}
}

// sides returns the lines of a unified diff before and after the change. Where the diff leaves lines out,
// so do they.
func sides(patch string) (before, after string) {
	var was, is strings.Builder
	inside := false
	for line := range strings.Lines(patch) {
		switch {
		case strings.HasPrefix(line, "@@"):
			inside = true
		case !inside, strings.HasPrefix(line, `\`):
		case strings.HasPrefix(line, "-"):
			was.WriteString(line[1:])
		case strings.HasPrefix(line, "+"):
			is.WriteString(line[1:])
		default:
			same := strings.TrimPrefix(line, " ")
			was.WriteString(same)
			is.WriteString(same)
		}
	}
	return was.String(), is.String()
}

// commands returns the command lines that the details show.
func (d details) commands() (list []string) {
	if d.Type != eca.TypeShellCommand {
		return nil
	}
	for _, cmd := range d.Commands {
		list = append(list, strings.TrimSpace(cmd.Command+" "+strings.Join(cmd.Args, " ")))
	}
	return list
}

// output returns the structured result of a call; nil: it has none.
func (d details) output() json.RawMessage {
	if d.Type != eca.TypeJSONOutputs || len(d.JSONs) != 1 || !json.Valid([]byte(d.JSONs[0])) {
		return nil
	}
	return json.RawMessage(d.JSONs[0])
}

// isTask reports whether a call fills the panel of tasks: clients show no card for it.
func (tc *call) isTask() bool {
	return tc.head.Name == eca.ToolTask && (tc.head.Server == eca.NativeServer || tc.head.Server == "" && tc.head.Origin == eca.OriginNative)
}

// hides reports whether a call is shown as the plan alone. One that somebody was asked about is a call like
// any other.
func (c *chat) hides(tc *call) bool { return tc.isTask() && c.parent == nil && tc.is.Why == "" }

// plan takes the plan from the details of a call.
func (c *chat) plan(tc *call) {
	if !tc.isTask() || c.parent != nil || tc.details.Type != eca.TypeTask {
		return
	}
	entries := make([]core.PlanEntry, 0, len(tc.details.Tasks))
	for _, item := range tc.details.Tasks {
		e := core.PlanEntry{Text: display.Plain(item.Subject), Status: core.PlanPending, Priority: item.Priority}
		switch item.Status {
		case eca.TaskInProgress:
			e.Status = core.PlanActive
		case eca.TaskDone:
			e.Status = core.PlanDone
		case eca.TaskPending:
		}
		entries = append(entries, e)
	}
	next := wire.JSON(entries)
	if string(next) == c.steps {
		return
	}
	c.steps = string(next)
	c.emit(core.PlanChanged{Entries: entries})
}
