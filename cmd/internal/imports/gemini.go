package imports

import (
	"encoding/json"
	"slices"
)

// geminiServers reads Gemini CLI's settings.json. Its mcp.allowed and mcp.excluded choose among the
// servers.
func geminiServers(f settingsFile, top settingsObject) (settings, error) {
	var mcp struct {
		Allowed  *[]string
		Excluded []string
	}
	_ = json.Unmarshal(top["mcp"], &mcp)                        //nolint:errcheck // it may be missing
	_ = json.Unmarshal(top["allowMCPServers"], &mcp.Allowed)    //nolint:errcheck // an older form
	_ = json.Unmarshal(top["excludeMCPServers"], &mcp.Excluded) //nolint:errcheck // an older form
	all, err := standardServers(f, settingsObject{"mcpServers": top["mcpServers"]})
	for i := range all.servers {
		s := &all.servers[i]
		switch {
		case slices.Contains(mcp.Excluded, s.original):
			s.server.Disabled = true
			s.note("mcp.excluded has it, so it is disabled here")
		case mcp.Allowed != nil && !slices.Contains(*mcp.Allowed, s.original):
			s.server.Disabled = true
			s.note("mcp.allowed does not have it, so it is disabled here")
		}
	}
	return all, err
}
