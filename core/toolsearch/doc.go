// Package toolsearch finds tools by words, for models and clients with too many tools
// to list.
//
// A caller that hides tools lists two others in their place: Search, which is answered
// by [Answer], and Call, which calls a hidden tool. The built-in loop does so for a
// model, and the aggregate of MCP servers for its client. Both read the same texts, so
// a model that knows one knows the other. A search reads only the list of tools.
package toolsearch
