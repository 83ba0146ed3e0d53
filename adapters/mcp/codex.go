package mcp

import "github.com/modelcontextprotocol/go-sdk/mcp"

func (h *host) addCodexTools(s *mcp.Server) {}
