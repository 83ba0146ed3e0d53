package translate

import (
	"io"

	acp "dragoman/adapters/acp/losses"
	eca "dragoman/adapters/eca/losses"
	mcp "dragoman/adapters/mcp/losses"
	agent "dragoman/bridge/agent/losses"
	"dragoman/core/fidelity"
)

// WriteTable writes what clients of each protocol get of what agents of each tell, as Markdown.
func WriteTable(w io.Writer) error {
	return fidelity.Table{
		Agents: []fidelity.Side{
			{Name: "our agent"},
			{Name: "ACP agent", Losses: agent.Decoder()},
		},
		Clients: []fidelity.Side{
			{Name: "ECA", Losses: eca.Encoder()},
			{Name: "ACP", Losses: acp.Encoder()},
			{Name: "MCP", Losses: mcp.Encoder()},
		},
	}.Write(w)
}
