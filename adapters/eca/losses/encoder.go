// Package losses lists what clients that speak ECA are not told, or are told in another way.
package losses

import "dragoman/core/fidelity"

// Encoder lists the facts that the encoder of ECA does not carry as they are, to a client of today's
// document.
func Encoder() []fidelity.Loss {
	return []fidelity.Loss{
		fidelity.AsText.Because(
			"An ECA client shows a message of the user as its text, with the names of what is attached to it.",
			"TurnStarted.Prompt.Image.MIME", "TurnStarted.Prompt.Image.Data", "TurnStarted.Prompt.Audio", "TurnStarted.Prompt.Link.URI",
			"TurnStarted.Prompt.Link.Name", "TurnStarted.Prompt.Resource.URI",
			"Steered.Prompt.Image.MIME", "Steered.Prompt.Image.Data", "Steered.Prompt.Audio", "Steered.Prompt.Link.URI", "Steered.Prompt.Link.Name",
			"Steered.Prompt.Resource.URI",
		),
		fidelity.Lost.Because(
			"Of what is attached to a message an ECA client shows the name alone.",
			"TurnStarted.Prompt.Image.URI", "TurnStarted.Prompt.Link", "TurnStarted.Prompt.Resource",
			"Steered.Prompt.Image.URI", "Steered.Prompt.Link", "Steered.Prompt.Resource",
		),
		fidelity.Lost.Because(
			"ECA has no kinds of calls.",
			"CallChanged.Call.Kind",
		),
		fidelity.Lost.Because(
			"ECA has no places in files; the summary of a call names them.",
			"CallChanged.Call.Locations",
		),
		fidelity.InPart.Because(
			"While somebody decides about a call of an MCP server's tool, an ECA client gets its arguments with their invisible characters spelled out.",
			"CallChanged.Call.Args",
		),
		fidelity.InPart.Because(
			"ECA says that the user, a rule or a stop has ended a call, and has the reason as its output where a call could not run.",
			"CallChanged.Call.Why",
		),
		fidelity.Lost.Because(
			"ECA has no output of a running command; its result has all of it.",
			"CallOutput",
		),
		fidelity.AsText.Because(
			"ECA has results that are text, and images beside them; other content is named, and files are shown as text.",
			"CallChanged.Call.Content.Audio", "CallChanged.Call.Content.Link.URI", "CallChanged.Call.Content.Link.Name",
			"CallChanged.Call.Content.Resource.URI", "CallChanged.Call.Content.Resource.Text",
		),
		fidelity.Lost.Because(
			"Of other content in a result ECA has the name alone.",
			"CallChanged.Call.Content.Image.URI", "CallChanged.Call.Content.Link", "CallChanged.Call.Content.Resource",
		),
		fidelity.Changed.Because(
			"ECA has a change to a file as a patch.",
			"CallChanged.Call.Content.Diff.Old", "CallChanged.Call.Content.Diff.New",
		),
		fidelity.Lost.Because(
			"A patch in ECA does not say that the file is new or was moved; the title does.",
			"CallChanged.Call.Content.Diff.Created", "CallChanged.Call.Content.Diff.From",
		),
		fidelity.Lost.Because(
			"ECA editors have no terminals of their own.",
			"CallChanged.Call.Content.Terminal",
		),
		fidelity.Lost.Because(
			"ECA has a place for the structured result of a call, and not for other data of its agent.",
			"CallChanged.Call.Meta",
		),
		fidelity.InPart.Because(
			"ECA's buttons approve once, for the session, or reject; an agent's own answers beside these are a question with their words.",
			"Asked.approval.Options.Decision",
		),
		fidelity.Lost.Because(
			"ECA's buttons do not say what is remembered, and none of them is for good.",
			"Asked.approval.Remember", "Asked.approval.Always",
		),
		fidelity.Lost.Because(
			"A consent is a question in ECA, whose answers are words.",
			"Asked.consent.Options.Decision",
		),
		fidelity.Lost.Because(
			"ECA has the tokens of the last request, and not the session's; it does not tell apart which came from a cache, were for thinking, or are estimates.",
			"UsageChanged.Total.In", "UsageChanged.Total.Out",
			"UsageChanged.Last.CacheRead", "UsageChanged.Last.CacheWrite", "UsageChanged.Last.Reasoning", "UsageChanged.Last.Estimated",
			"UsageChanged.Total.CacheRead", "UsageChanged.Total.CacheWrite", "UsageChanged.Total.Reasoning", "UsageChanged.Total.Estimated",
		),
		fidelity.InPart.Because(
			"ECA has costs as text, with six digits behind the point.",
			"UsageChanged.Last.Cost", "UsageChanged.Total.Cost",
		),
		fidelity.Lost.Because(
			"ECA does not say which model has answered.",
			"UsageChanged.Model",
		),
		fidelity.AsText.Because(
			"ECA has no notices, so they are lines of the chat.",
			"Notice", "Missing", "Instructed", "FellBack",
		),
		fidelity.Changed.Because(
			"What an agent is told is shown as a thought, because ECA clients fold these.",
			"Briefed",
		),
		fidelity.Lost.Because(
			"A line of the chat has no severity in ECA.",
			"Notice.Severity",
		),
		fidelity.AsText.Because(
			"ECA has no message for a summary or for changes that were undone, so the chat says it.",
			"Compacted", "Reverted",
		),
		fidelity.Lost.Because(
			"The chat says that there is a summary, and not which.",
			"Compacted.Summary", "Compacted.Shares",
		),
		fidelity.Lost.Because(
			"A source in ECA has a title and an address.",
			"Cited.Link.Name", "Cited.Link.Description", "Cited.Link.MIME", "Cited.Link.Size",
		),
		fidelity.AsText.Because(
			"ECA has no reasons for the end of a turn, so the chat says them.",
			"TurnEnded.Stop", "TurnEnded.Err", "TurnEnded.Login",
		),
		fidelity.Lost.Because(
			"ECA clients do not know the updates of other protocols, and get what they have of text, images and links.",
			"Foreign.Method", "Foreign.Raw", "Foreign.Content.Image.URI", "Foreign.Content.Audio", "Foreign.Content.Link.Name",
			"Foreign.Content.Link.Description", "Foreign.Content.Link.MIME", "Foreign.Content.Link.Size",
		),
		fidelity.Lost.Because(
			"ECA has agents, models and variants: an agent's options of other kinds, and what they are called, are not shown.",
			"Offered.Choices.ID", "Offered.Choices.Name", "Offered.Choices.Description", "Offered.Choices.Values.Name",
			"Offered.Choices.Values.Description", "Offered.Choices.Values.Group",
		),
	}
}
