// Package acp transcribes the Agent Client Protocol, version 1: its structures
// and constants, and no behaviour but the reading of them; and the thread protocol, which it was
// in June 2025. What the official Go types spell well is taken
// from them by alias; written here is what they lose or cannot say: content as
// one flat structure, updates whose absent fields stay absent, the name of a tool
// call, and lists that are never null.
//
// Fields follow the schema of version 1; a comment says where one is unstable.
package acp
