package bridgetest

// Greeting is the beginning of most scripts.
const Greeting = `initialize {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"script","version":"1"}}}
`

// OneTool returns a list of a tool named t, with the given annotations.
func OneTool(annotations string) string {
	return `tools/list {"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"},"annotations":{` + annotations + `}}]}}
`
}

// DescribedTool returns a script's list of one tool.
func DescribedTool(name, description string) string {
	return `tools/list {"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"` + name + `","description":"` + description + `","inputSchema":{"type":"object"}}]}}
`
}

// ToolDone is the answer to a call of a script's tool.
const ToolDone = `tools/call {"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"done"}]}}
`
