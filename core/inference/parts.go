package inference

// The parts of a request, as in core.Share.
const (
	PartSystem       = "system"       // the system prompt without the parts below
	PartInstructions = "instructions" // AGENTS.md and what belongs to it
	PartRules        = "rules"
	PartSkills       = "skills"   // the list of skills
	PartContext      = "context"  // core.Context.Standing
	PartTools        = "tools"    // the definitions of the tools
	PartCalls        = "calls"    // calls and their results
	PartMessages     = "messages" // everything else that was said
)

// Parts lists the parts of a request in their order.
var Parts = []string{
	PartSystem, PartInstructions, PartRules, PartSkills, PartContext, PartTools, PartCalls, PartMessages,
}

// PartTitle returns the name of a part for people.
func PartTitle(part string) string {
	switch part {
	case PartSystem:
		return "System prompt"
	case PartInstructions:
		return "AGENTS.md"
	case PartRules:
		return "Rules"
	case PartSkills:
		return "Skills"
	case PartContext:
		return "Context files"
	case PartTools:
		return "Tool definitions"
	case PartCalls:
		return "Tool calls"
	case PartMessages:
		return "Conversation"
	}
	return part
}
