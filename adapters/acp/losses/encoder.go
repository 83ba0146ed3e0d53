// Package losses lists what clients that speak ACP are not told, or are told in another way.
package losses

import "dragoman/core/fidelity"

// Encoder lists the facts that the encoder of ACP, version 1, does not carry as they are, to a client
// that has announced everything that clients can show.
func Encoder() []fidelity.Loss {
	return []fidelity.Loss{
		fidelity.Lost.Because(
			"ACP does not say when a thought begins and ends, or how long it took.",
			"ThoughtStarted", "ThoughtEnded",
		),
		fidelity.Lost.Because(
			"ACP has no field for the lines of a file.",
			"TurnStarted.Prompt.Resource.Lines", "Steered.Prompt.Resource.Lines", "CallChanged.Call.Content.Resource.Lines",
		),
		fidelity.AsNotice.Because(
			"ACP has no message for what a turn is doing: only a long wait is shown, as a notice.",
			"Phase",
		),
		fidelity.Lost.Because(
			"ACP has no arguments that are still being written; the call has them whole.",
			"CallArgs",
		),
		fidelity.Lost.Because(
			"ACP does not say whose tool it is.",
			"CallChanged.Call.Server",
		),
		fidelity.Changed.Because(
			"ACP clients expect the command line as the title of a command.",
			"CallChanged.Call.Title",
		),
		fidelity.InPart.Because(
			"ACP has no state for a call that waits for a decision, was rejected or was stopped: it is pending, or failed with the reason as its content.",
			"CallChanged.Call.State",
		),
		fidelity.InPart.Because(
			"ACP has a place for the reason only where a call was rejected or stopped.",
			"CallChanged.Call.Why",
		),
		fidelity.Lost.Because(
			"ACP has no times of a call.",
			"CallChanged.Call.Start", "CallChanged.Call.End",
		),
		fidelity.InPart.Because(
			"Beside a change to a file, ACP clients are shown the change and not the words about it; other results are set as code where Markdown would spoil them.",
			"CallChanged.Call.Content.Text",
		),
		fidelity.Lost.Because(
			"ACP has the text of a file before and after a change, and no patch; clients count the lines themselves.",
			"CallChanged.Call.Content.Diff.Patch", "CallChanged.Call.Content.Diff.Added", "CallChanged.Call.Content.Diff.Removed",
		),
		fidelity.Lost.Because(
			"ACP has no moves of files; the title and the places show them.",
			"CallChanged.Call.Content.Diff.From",
		),
		fidelity.InPart.Because(
			"An approval in ACP shows the call, and not why it is asked for.",
			"Asked.approval.Text",
		),
		fidelity.Changed.Because(
			"In ACP every answer means yes or no: one that means neither is shown as a no.",
			"Asked.approval.Options.Decision", "Asked.consent.Options.Decision",
		),
		fidelity.Lost.Because(
			"ACP has the tokens of a turn and the costs of the session, and not the reverse.",
			"UsageChanged.Last.Cost", "UsageChanged.Last.Estimated", "UsageChanged.Total.In", "UsageChanged.Total.Out",
			"UsageChanged.Total.CacheRead", "UsageChanged.Total.CacheWrite", "UsageChanged.Total.Reasoning", "UsageChanged.Total.Estimated",
		),
		fidelity.Lost.Because(
			"ACP does not say which model has answered.",
			"UsageChanged.Model",
		),
		fidelity.Lost.Because(
			"ACP has the size of the window and how full it is, and nothing about its parts.",
			"UsageChanged.Shares", "UsageChanged.CompactAt", "Compacted.Shares",
		),
		fidelity.Lost.Because(
			"ACP has the text of a summary, and not what it has saved.",
			"Compacted.Auto", "Compacted.Before", "Compacted.After",
		),
		fidelity.AsNotice.Because(
			"ACP has no message for a change of the model.",
			"FellBack",
		),
		fidelity.Changed.Because(
			"What an agent is told is shown as a thought, because ACP clients fold these.",
			"Briefed",
		),
		fidelity.Lost.Because(
			"ACP has no marks on messages.",
			"Flagged",
		),
		fidelity.AsText.Because(
			"ACP has no message for that.",
			"Reverted", "Truncated", "Moved",
		),
		fidelity.InPart.Because(
			"ACP has no reason for a turn that failed, or was interrupted: both are errors of the prompt.",
			"TurnEnded.Stop",
		),
		fidelity.Lost.Because(
			"ACP has one hint for all arguments of a command.",
			"Offered.Commands.Arguments.Description", "Offered.Commands.Arguments.Required",
		),
	}
}
