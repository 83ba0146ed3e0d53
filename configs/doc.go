// Package configs is the configuration as data: the structs, the place of the file, the
// merging of layers, problems with their positions, edits of MCP servers and agents, and the choice of
// the default model. It starts nothing and does not use the network.
//
// # Vocabulary
//
// A layer is one source of settings: the defaults, the options of an editor that
// connects, the user's file, a workspace's file, the command line. Parse reads a
// layer, ParseEditor the editor's, Resolve merges layers, Load does both for the
// user's file.
//
// A key is the dotted path of a setting, such as providers.local.base_url or policy.deny[2].path.
// A Position is the place of a key in a file, a Problem a mistake there. A file's problems are
// reported together, in an *Error.
//
// A reference is ${env:NAME} or ${file:PATH} within a Value, Secret or URL, or
// ${cmd:PROGRAM ARGUMENTS} within a Secret of the user's own file.
// Its form is checked when the file is read; it is looked up by Resolve, when
// the value is needed. "$${" means a literal "${".
//
// # MCP servers
//
// In addition to mcp_servers of the YAML, servers are read from mcp.json in the same folder
// ([ServersFile]), in the form that MCP programs share: JSON with comments and trailing commas.
// They are part of the user's layer; a server of the YAML takes precedence over one of the same
// name, as a whole. Members can have the names of other programs, those of our settings and the
// aliases in a tag (aka), in any spelling that fold makes equal; unknown members are ignored. In
// texts, ${NAME}, ${NAME:-DEFAULT} and ${workspaceFolder} are references as well: the code that
// starts a server resolves them with an Env that knows the folder.
//
// A mistake in a server affects that server alone: it is Unusable, and a warning gives the reason.
// A file that is not such an object is an error like one in the YAML, because its list "disabled"
// may name servers that would start otherwise.
//
// The program writes YAML only in [Init]. An [Edit] changes one server in the text of mcp.json: it
// finds the value's offset in the syntax tree and replaces a piece of the text there, so that
// every other byte stays. Afterwards the text is read again: the edit is refused unless the server
// has the requested settings, and the others are unchanged. [EditServers] replaces the file under
// a lock of core/datadir.
//
// # Agents
//
// agents.json in the same folder ([AgentsFile]) has agents in the same way: in the form of agents in
// the YAML, or in that of an editor's agent_servers. They are part of the user's layer; no other layer
// can define an external agent. [EditAgents] changes it.
//
// # Layers
//
//   - A mapping merges key by key, at every depth.
//
//   - A scalar replaces the lower layer's scalar.
//
//   - A list replaces the lower layer's list.
//
//   - Of the limits tagged lowers:"yes" the lowest of all layers holds: a layer other
//     than the user's file can lower one, and none can raise it.
//
//   - A workspace's layer sets only keys tagged workspace:"yes", and its lists
//     are added to those of the user, so that a repository can tighten the
//     policy and never loosen it. Its values cannot contain references, because
//     a reference would carry a variable or a file into a prompt. Settings that
//     it may not set are left out, with a warning.
//
//   - The editor's layer is the lowest, but its ask and deny rules and its disabled
//     tools are added to those of the user's file. Its mistakes are left out and
//     reported, because its user cannot fix them before the editor has started.
//
//   - Editors take settings from folders that they open. So only the user's own
//     file can run programs for keys; the editor's layer cannot contain references,
//     cannot set a known provider's address, where the user's key is sent, or the
//     files that are written; and its MCP servers start after the user has agreed
//     (FromEditor). Of the rest, settings that only restrict apply at once, and
//     settings that allow more apply after a person has agreed (Narrowed);
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
// Descriptions, defaults, allowed values and bounds are in struct tags, once:
// decoding, checking, the JSON schema and Marshal all read them there.
package configs
