package mcp

import "slices"

// Versions of the protocol, named by the feature that they were the first, the last or the only
// one to have.
const (
	Numbered = "1"          // the early dialect: its version is a number
	Oldest   = "2024-11-05" // the first with a date
	Batches  = "2025-03-26" // the only one with batches
	Forms    = "2025-06-18" // the first with elicitation
	Titles   = Legacy       // the first with titles for the choices of a form
	Legacy   = "2025-11-25" // the last that begins with initialize
	Modern   = "2026-07-28" // the first without initialize: every request has the version
)

var legacy = []string{Oldest, Batches, Forms, Legacy}

// IsLegacy reports whether a version is one that initialize can lead to.
func IsLegacy(version string) bool { return slices.Contains(legacy, version) }

// Versions returns the versions that have a date, the newest first.
func Versions() []string {
	list := append(slices.Clone(legacy), Modern)
	slices.Reverse(list)
	return list
}

// Headers of Streamable HTTP.
const (
	HeaderSession = "Mcp-Session-Id"
	HeaderVersion = "Mcp-Protocol-Version"
	HeaderMethod  = "Mcp-Method" // of 2026-07-28, as are those below
	HeaderName    = "Mcp-Name"   // of a tool, prompt, resource or task
	HeaderParam   = "Mcp-Param-" // followed by an argument's name in the tool's schema
)

// Members of _meta.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaServer       = "io.modelcontextprotocol/serverInfo"
	MetaLevel        = "io.modelcontextprotocol/logLevel"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
	MetaToken        = "progressToken"
	MetaTask         = "io.modelcontextprotocol/related-task" // of 2025-11-25
	// MetaHops counts the gateways of ours that a request has passed.
	MetaHops = "dragoman/hops"
)

// ExtensionTasks is the name of the extension Tasks among the capabilities.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// Error codes in addition to those of JSON-RPC.
const (
	CodeClosed             = -32000 // the call has ended with its client; every error of the early dialect
	CodeNoResource         = -32002 // up to 2025-11-25
	CodeForbidden          = -32003 // the token lacks a right that the message needs
	CodeHeaderMismatch     = -32020 // a header and the body differ
	CodeMissingCapability  = -32021 // the client has not declared a required capability
	CodeUnsupportedVersion = -32022
	CodePageRequired       = -32042 // the user has to open pages first; data has them
)
