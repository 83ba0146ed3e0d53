package inference

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"dragoman/core"
)

// MaxToolName is the longest name of a tool that every provider and client accepts, in bytes.
const MaxToolName = 64

// ToolName returns a tool's name in a list of tools from several servers: our own tools keep
// their names, others become SERVER__TOOL. A name that would be illegal or ambiguous gets a
// part of a checksum. The name depends on nothing else, so it means the same tool for ever.
func ToolName(server, tool string) string { return ToolNameWithin(MaxToolName, server, tool) }

// ToolNameWithin is ToolName for a shorter limit, in bytes, of at least 16: for clients that put a
// prefix of their own before the name.
func ToolNameWithin(limit int, server, tool string) string {
	name, unclear := tool, strings.Contains(tool, "__")
	if server != core.Native {
		name, unclear = server+"__"+tool, strings.Contains(server, "__") || strings.HasSuffix(server, "_") ||
			server == ""
	}
	legal := strings.Map(legalRune, name)
	if legal == name && !unclear && len(name) <= limit && tool != "" {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	return legal[:min(len(legal), limit-9)] + "_" + hex.EncodeToString(sum[:4])
}

// LegalToolName reports whether a name is one for every provider and client as it is.
func LegalToolName(name string) bool {
	return name != "" && len(name) <= MaxToolName && strings.Map(legalRune, name) == name
}

func legalRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
		return r
	}
	return '_'
}
