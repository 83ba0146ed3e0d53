package translate

import (
	"io"

	acp "dragoman/adapters/acp/losses"
	eca "dragoman/adapters/eca/losses"
	mcp "dragoman/adapters/mcp/losses"
	agent "dragoman/bridge/agent/losses"
	ecaserver "dragoman/bridge/ecaserver/losses"
	"dragoman/core/fidelity"
)

// WriteTable writes what clients of each protocol get of what agents of each tell, as Markdown.
func WriteTable(w io.Writer) error {
	return fidelity.Table{
		Agents: []fidelity.Side{
			{Name: "our agent"},
			{Name: "ACP agent", Losses: agent.Decoder()},
			{Name: "ECA agent", Losses: ecaserver.Decoder()},
		},
		Clients: []fidelity.Side{
			{Name: "ECA", Losses: eca.Encoder()},
			{Name: "ACP", Losses: acp.Encoder()},
			{Name: "MCP", Losses: mcp.Encoder()},
		},
	}.Write(w)
}
