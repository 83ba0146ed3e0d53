// Package acp transcribes the Agent Client Protocol, version 1: its structures and constants, and
// no behaviour except reading them; and the thread protocol of June 2025, its predecessor.
// Suitable official Go types are used by alias; this package defines those that lose or cannot
// express something: content as one flat structure, updates whose absent fields stay absent, the
// name of a tool call, and lists that are never null.
//
// Fields follow the schema of version 1; a comment marks unstable ones.
package acp

// Protocol is the protocol's name in a core.Foreign.
const Protocol = "acp"
