package imports

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core/display"
)

// claudeServers reads Claude Code's settings: .mcp.json, and ~/.claude.json, which has the servers
// of the user (mcpServers) and of each folder (projects[FOLDER].mcpServers, the default of "claude
// mcp add").
func claudeServers(f settingsFile, top settingsObject) (all settings, err error) {
	if top["projects"] == nil {
		return standardServers(f, top)
	}
	folders, projects, err := members(top["projects"])
	if err != nil {
		return all, f.noServers("mcpServers and projects")
	}
	local := f.localFolder(projects)
	for _, folder := range folders {
		p := claudeProjectOf(projects[folder])
		if len(p.names) == 0 {
			continue
		}
		if folder != local {
			all.notes = append(all.notes, "not imported: "+display.Counted(len(p.names), "server")+" of the folder "+
				display.Line(folder, 200)+" ("+display.Line(strings.Join(p.names, ", "), 200)+"); import there to have them")
			continue
		}
		in := f
		in.project = folder
		if all.servers, err = in.section(p.MCPServers, in.read); err != nil {
			return all, err
		}
		for i := range all.servers {
			s := &all.servers[i]
			if slices.Contains(p.DisabledMCPServers, p.names[i]) {
				s.server.Disabled = true
				s.note("it is disabled in the folder %s, so it is disabled here", folder)
			}
			s.note("it was only for the folder %s; here it is for all", folder)
		}
	}
	if top["mcpServers"] == nil {
		return all, nil
	}
	user, err := standardServers(f, settingsObject{"mcpServers": top["mcpServers"]})
	for _, s := range user.servers {
		if slices.ContainsFunc(all.servers, func(o candidate) bool { return o.name == s.name }) {
			all.notes = append(all.notes, "the user's server "+s.name+" is not imported: the folder "+local+" has one of that name")
			continue
		}
		all.servers = append(all.servers, s)
	}
	return all, err
}

// claudeProject is the entry of a folder.
type claudeProject struct {
	MCPServers         json.RawMessage `json:"mcpServers"`
	DisabledMCPServers []string        `json:"disabledMcpServers"`

	names []string
}

func claudeProjectOf(raw json.RawMessage) (p claudeProject) {
	if json.Unmarshal(raw, &p) == nil && p.MCPServers != nil {
		p.names, _, _ = members(p.MCPServers) //nolint:errcheck // then it has none
	}
	return p
}

// localFolder returns the folder with servers that the current folder is, or is in; "": none.
func (f settingsFile) localFolder(projects settingsObject) string {
	for dir := f.cwd; dir != ""; dir = filepath.Dir(dir) {
		if raw, ok := projects[filepath.ToSlash(dir)]; ok && len(claudeProjectOf(raw).names) > 0 {
			return filepath.ToSlash(dir)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}
