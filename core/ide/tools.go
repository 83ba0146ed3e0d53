package ide

// Names of our tools that an editor makes possible.
const (
	DiagnosticsTool = "editor_diagnostics"
	DefinitionTool  = "editor_definition"
	ReferencesTool  = "editor_references"
)

// Serves reports whether one of our tools can be used with the editor. It is true for tools that
// need no editor.
func (c Caps) Serves(tool string) bool {
	switch tool {
	case DiagnosticsTool:
		return c.Diagnostics
	case DefinitionTool:
		return c.Definition
	case ReferencesTool:
		return c.References
	}
	return true
}
