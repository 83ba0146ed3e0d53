// Package configs is the configuration as data: the structs, where the file
// is, how layers merge, what is wrong with a file and where, how MCP servers are added to
// it, and which model follows from it. It starts nothing and asks nothing of the network.
//
// # Vocabulary
//
// A layer is one source of settings: the defaults, what the editor set when it
// connected, the user's file, a workspace's file, the command line. Parse reads a
// layer, ParseEditor the editor's, Resolve merges layers, Load does both for the
// user's file.
//
// A key is the dotted path of a setting, such as providers.local.base_url or
// policy.deny[2].path. A Position says where a key was written, a Problem what
// is wrong with it. A file's problems are reported together, in an *Error.
//
// A reference is ${env:NAME} or ${file:PATH} within a Value, Secret or URL, or
// ${cmd:PROGRAM ARGUMENTS} within a Secret of the user's own file.
// Its form is checked when the file is read; it is looked up by Resolve, when
// the value is needed. "$${" stands for a plain "${".
//
// # MCP servers
//
// Besides mcp_servers of the YAML, servers are read from mcp.json beside it ([ServersFile]), in the
// form that MCP programs share: JSON with comments and trailing commas. They are part of the
// user's layer; a server of the YAML wins by name, as a whole. Members have the names that other
// programs give them, those of our settings and the words that a tag lists for them (aka), in any
// spelling that fold makes equal; members that mean nothing here are left alone. In texts ${NAME},
// ${NAME:-DEFAULT} and ${workspaceFolder} are references as well: who starts a server resolves
// them with an Env that knows the folder.
//
// What is wrong with a server costs that server alone: it is Unusable, and a warning says why. A
// file that is no such object is an error like one of the YAML, for the list "disabled" in it may
// leave servers alone that would start otherwise.
//
// The program writes YAML once, in [Init]. An [Edit] changes one server in the text of mcp.json: a
// value is looked for in the syntax tree, which knows the offset of each, and a piece of the text
// is replaced there, so that every other byte stays. Afterwards the text is read again: unless the
// server says what was wanted, and the others have the text that they had, the edit is refused.
// [EditServers] replaces the file under a lock of core/datadir.
//
// # Layers
//
//   - A mapping merges key by key, at every depth.
//
//   - A scalar replaces the lower layer's scalar.
//
//   - A list replaces the lower layer's list.
//
//   - A workspace's layer sets only keys tagged workspace:"yes", and its lists
//     are added to those of the user, so that a repository can tighten the
//     policy and never loosen it. Its values hold no references, because
//     a reference would carry a variable or a file into a prompt. What it may
//     not set is left out, with a warning.
//
//   - The editor's layer is the lowest, but its ask and deny rules and its disabled
//     tools stay beside those of the user's file. What is wrong in it is left out and
//     said, for its user cannot mend it before the editor has started.
//
//   - Editors take settings from folders that they open. So only the user's own
//     file has programs run for keys; the editor's layer holds no references, says
//     neither where a known provider is reached, for that is where the user's key
//     is sent, nor which files are written; and its MCP servers are started after
//     the user has agreed (FromEditor). Of the rest, settings that only restrict hold at
//     once, and settings that allow more hold after a person has agreed (Narrowed);
//     editorEffects classifies every setting.
//
// # Invariants
//
// The environment arrives as an Env and is never read from the process. A
// Secret prints as *** in every form, except for its references. A Config that
// Load or Resolve returned is not changed afterwards and may be shared by
// goroutines. The package has no goroutines, no mutexes and no state of its own.
//
// # Why
//
// The YAML library parses; decoding is done here, over its syntax tree. Its own
// decoder stops at the first fault and, being driven by the document, follows
// aliases as far as they go. A decoder driven by our types reports every fault
// with its position and knows how deep a document can be.
//
// The library's parser takes quadratic time on long mappings and on deep
// nesting, and recurses: 65,536 opening brackets took it 25 s. The number of
// tokens and the nesting are therefore bounded between its lexer, which is
// linear, and its parser.
//
// Descriptions, defaults, allowed values and bounds stand in struct tags, once:
// decoding, checking, the JSON schema and Marshal all read them there.
package configs
