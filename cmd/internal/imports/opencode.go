package imports

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// opencodeEntry is a server of opencode.json.
type opencodeEntry struct {
	Type        string          `json:"type"`
	Command     []any           `json:"command"`
	Cwd         string          `json:"cwd"`
	Environment map[string]any  `json:"environment"`
	URL         string          `json:"url"`
	Headers     map[string]any  `json:"headers"`
	Enabled     *bool           `json:"enabled"`
	Disabled    bool            `json:"disabled"`
	Timeout     json.RawMessage `json:"timeout"`
	OAuth       json.RawMessage `json:"oauth"`
}

// opencodeServers reads the servers in mcp, or in mcp.servers since version 2. The lists of tools
// are for all servers together (tools: {"NAME_TOOL": false}).
func opencodeServers(f settingsFile, top settingsObject) (all settings, err error) {
	section := top["mcp"]
	if section == nil {
		return all, f.noServers("mcp")
	}
	if _, mcp, err := members(section); err == nil && mcp["servers"] != nil {
		var is struct{ Type string }
		if json.Unmarshal(mcp["servers"], &is) == nil && is.Type == "" { // otherwise it is a server of this name
			section = mcp["servers"]
		}
	}
	var tools map[string]any
	_ = json.Unmarshal(top["tools"], &tools) //nolint:errcheck // it may be missing
	all.servers, err = f.section(section, func(name string, raw json.RawMessage) candidate {
		var o opencodeEntry
		return f.readAs(name, raw, &o, func(s *candidate) serverEntry { return o.entry(s, tools) })
	})
	return all, err
}

// entry returns the same in the form that most programs share.
func (o opencodeEntry) entry(s *candidate, tools map[string]any) serverEntry {
	e := serverEntry{Cwd: o.Cwd, Env: o.Environment, Headers: o.Headers, Enabled: o.Enabled, Disabled: o.Disabled}
	if o.Type == "" && len(o.Command) == 0 && o.URL == "" {
		s.err = errors.New("it only changes a server that is defined elsewhere")
		return e
	}
	if o.Type != "remote" && len(o.Command) > 0 {
		e.Command, _ = json.Marshal(spelled(o.Command[0])) //nolint:errcheck // a string
		e.Args = o.Command[1:]
	} else {
		e.URL = o.URL
	}
	if len(o.Timeout) > 0 && json.Unmarshal(o.Timeout, &e.Timeout) != nil {
		var each struct{ Startup, Catalog, Execution float64 } // version 2
		_ = json.Unmarshal(o.Timeout, &each)                   //nolint:errcheck // then it is reported
		e.startTimeout, e.callTimeout = times(max(each.Startup, each.Catalog), time.Millisecond), times(each.Execution, time.Millisecond)
		if e.startTimeout == 0 && e.callTimeout == 0 {
			s.note("timeout is not imported; use call_timeout")
		}
	}
	_ = json.Unmarshal(o.OAuth, &e.OAuth) //nolint:errcheck // false: none
	for _, pattern := range slices.Sorted(maps.Keys(tools)) {
		if tools[pattern] != false {
			continue
		}
		tool, ok := strings.CutPrefix(pattern, s.original+"_")
		switch {
		case ok:
			e.ExcludeTools = append(e.ExcludeTools, tool)
		case pattern == s.original+"*":
			e.ExcludeTools = append(e.ExcludeTools, "*")
		}
	}
	return e
}
