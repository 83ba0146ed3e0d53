package inference

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"dragoman/core"
)

// MaxToolName is how long a tool's name may be for every provider and client, in bytes.
const MaxToolName = 64

// ToolName is a tool's name where those of several servers stand side by side: our own
// tools by their name, others as SERVER__TOOL. A name that would not be legal, or could
// be read as that of another tool, gets a part of a checksum. It depends on nothing
// else, so that a name means the same tool for ever.
func ToolName(server, tool string) string {
	name, unclear := tool, strings.Contains(tool, "__")
	if server != core.Native {
		name, unclear = server+"__"+tool, strings.Contains(server, "__") || strings.HasSuffix(server, "_") || server == ""
	}
	legal := strings.Map(legalRune, name)
	if legal == name && !unclear && len(name) <= MaxToolName && tool != "" {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	return legal[:min(len(legal), MaxToolName-9)] + "_" + hex.EncodeToString(sum[:4])
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
