// Package losses lists what clients that speak MCP are not told, or are told in another way.
package losses

import "dragoman/core/fidelity"

// Encoder lists the facts that the encoder of MCP does not carry as they are, to a client that prompts by
// agent_prompt, shows progress and forms, and reads events and resources.
func Encoder() []fidelity.Loss {
	return []fidelity.Loss{
		fidelity.AsText.Because(
			"An MCP client reads a message of the user as its text, with the names of what is attached to it.",
			"TurnStarted.Prompt.Image.MIME", "TurnStarted.Prompt.Audio.MIME", "TurnStarted.Prompt.Link.URI", "TurnStarted.Prompt.Resource.URI",
			"Steered.Prompt.Image.MIME", "Steered.Prompt.Audio.MIME", "Steered.Prompt.Link.URI", "Steered.Prompt.Resource.URI",
		),
		fidelity.Lost.Because(
			"Of what is attached to a message an MCP client reads the name alone.",
			"TurnStarted.Prompt.Image", "TurnStarted.Prompt.Audio", "TurnStarted.Prompt.Link", "TurnStarted.Prompt.Resource",
			"Steered.Prompt.Image", "Steered.Prompt.Audio", "Steered.Prompt.Link", "Steered.Prompt.Resource",
		),
		fidelity.AsText.Because(
			"In MCP what a turn is doing is the message of its progress.",
			"Phase",
		),
		fidelity.Lost.Because(
			"An MCP client gets the text of thoughts, and not when they end.",
			"ThoughtEnded",
		),
		fidelity.Lost.Because(
			"For an MCP client a call is its name, a line about it and its state.",
			"CallChanged.Call.Kind", "CallChanged.Call.Locations", "CallChanged.Call.Start", "CallChanged.Call.End",
		),
		fidelity.InPart.Because(
			"An MCP client is shown the arguments of a call about which it is asked.",
			"CallChanged.Call.Args",
		),
		fidelity.Lost.Because(
			"An MCP client gets the answer of the agent; arguments that are being written, output and results of its calls stay with the agent.",
			"CallArgs", "CallOutput", "CallChanged.Call.Content.Text", "CallChanged.Call.Content.Image", "CallChanged.Call.Content.Audio",
			"CallChanged.Call.Content.Link", "CallChanged.Call.Content.Resource", "CallChanged.Call.Content.Terminal",
			"CallChanged.Call.Output", "CallChanged.Call.Meta",
		),
		fidelity.Lost.Because(
			"In MCP the changes of a turn are a patch, in a resource.",
			"CallChanged.Call.Content.Diff.Old", "CallChanged.Call.Content.Diff.New", "CallChanged.Call.Content.Diff.Added",
			"CallChanged.Call.Content.Diff.Removed", "CallChanged.Call.Content.Diff.From",
		),
		fidelity.Lost.Because(
			"An MCP client is shown the call that delegates a task, and not the sub-agent's work.",
			"CallChanged.Call.Child",
		),
		fidelity.InPart.Because(
			"MCP clients are offered an agent's own answers that are a yes for once or a no; the others are left to a person at another client.",
			"Asked.approval.Options.Decision",
		),
		fidelity.Lost.Because(
			"A client of MCP allows nothing for good.",
			"Asked.approval.Always",
		),
		fidelity.Lost.Because(
			"A consent is a form in MCP, whose answers are words.",
			"Asked.consent.Options.Decision",
		),
		fidelity.AsText.Because(
			"A plan is text in MCP.",
			"PlanChanged",
		),
		fidelity.Lost.Because(
			"The text of a plan has no priorities.",
			"PlanChanged.Entries.Priority",
		),
		fidelity.Lost.Because(
			"An MCP client is told the tokens and costs of a turn, and of the model only that it is another one than was asked for.",
			"UsageChanged.Model", "UsageChanged.Context", "UsageChanged.Window", "UsageChanged.Shares", "UsageChanged.CompactAt",
		),
		fidelity.Lost.Because(
			"MCP has nothing for what happens to a session beside its turns.",
			"SettingsChanged.Settings.Effort", "SettingsChanged.Settings.Trust", "Flagged", "Compacted", "Reverted", "Moved", "Truncated",
		),
		fidelity.AsNotice.Because(
			"In MCP a change of the model is a note before the answer.",
			"FellBack",
		),
		fidelity.AsNotice.Because(
			"An MCP client is told the beginning of what an agent was told, in a note.",
			"Briefed",
		),
		fidelity.Lost.Because(
			"A link in a result has no size.",
			"Cited.Link.Size", "Foreign.Content.Link.Size",
		),
		fidelity.Lost.Because(
			"The text of the failure says how to log in.",
			"TurnEnded.Login",
		),
		fidelity.Lost.Because(
			"MCP clients do not know the updates of other protocols, and get what they have of text, images, sounds and links.",
			"Foreign.Method", "Foreign.Raw", "Foreign.Content.Image.URI",
		),
		fidelity.Lost.Because(
			"MCP has prompts for all sessions, so an agent's own commands of one are not listed; typed into a message, they work.",
			"Offered.Commands",
		),
		fidelity.Lost.Because(
			"An MCP client is told the names of an agent's options and their values, and nothing about them.",
			"Offered.Choices.Description", "Offered.Choices.Category", "Offered.Choices.Values.Name", "Offered.Choices.Values.Description",
			"Offered.Choices.Values.Group",
		),
	}
}
