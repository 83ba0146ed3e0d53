// Package losses lists what agents that speak ACP do not tell, or tell in another way.
package losses

import "dragoman/core/fidelity"

// Decoder lists the facts that no message of an agent becomes, or not as they were, for an agent that
// speaks ACP, version 1, and says everything that it can.
func Decoder() []fidelity.Loss {
	return []fidelity.Loss{
		fidelity.Measured.Because(
			"An ACP agent does not say how long it thinks; the time from the first to the last piece of a thought is taken here.",
			"ThoughtEnded.Took",
		),
		fidelity.Lost.Because(
			"An ACP agent takes no message in the middle of a turn: it waits for the turn's end.",
			"Steered",
		),
		fidelity.Lost.Because(
			"ACP has no field for the lines of a file.",
			"TurnStarted.Prompt.Resource.Lines", "CallChanged.Call.Content.Resource.Lines",
		),
		fidelity.Lost.Because(
			"An ACP agent does not say what a turn waits for.",
			"Phase.Tool", "Phase.After",
		),
		fidelity.InPart.Because(
			"An ACP agent says that it makes a summary, and of nothing else what it is doing.",
			"Phase.Kind",
		),
		fidelity.Lost.Because(
			"An ACP agent tells the arguments of a call when it has all of them.",
			"CallArgs",
		),
		fidelity.Changed.Because(
			"An ACP agent does not say whose tool it is, so every call is the agent's.",
			"CallChanged.Call.Server",
		),
		fidelity.InPart.Because(
			"ACP has no state for a call that was rejected or stopped: it has failed, unless that was done here.",
			"CallChanged.Call.State",
		),
		fidelity.Changed.Because(
			"An ACP agent does not say why a call may run; what was decided here is said.",
			"CallChanged.Call.Why",
		),
		fidelity.Measured.Because(
			"An ACP agent has no times of a call; they are taken here.",
			"CallChanged.Call.Start", "CallChanged.Call.End",
		),
		fidelity.Lost.Because(
			"An ACP agent tells a file before and after a change, and neither a patch nor a move.",
			"CallChanged.Call.Content.Diff.Patch", "CallChanged.Call.Content.Diff.Added", "CallChanged.Call.Content.Diff.Removed",
			"CallChanged.Call.Content.Diff.From",
		),
		fidelity.AsText.Because(
			"A command that an ACP agent runs in a terminal runs here, and its output is that of the call.",
			"CallChanged.Call.Content.Terminal",
		),
		fidelity.Changed.Because(
			"Our own rules decide whether an ACP agent's question is put to somebody, and say why.",
			"Asked.approval.Text", "Asked.approval.About",
		),
		fidelity.Lost.Because(
			"The answers that an ACP agent offers have names alone; what it remembers is in them.",
			"Asked.approval.Options.Description", "Asked.approval.Remember", "Asked.approval.Always",
		),
		fidelity.Changed.Because(
			"A question of an ACP agent has the agent's name in front of it.",
			"Asked.question.Text",
		),
		fidelity.InPart.Because(
			"An ACP agent's form is asked field by field, so other words beside the choices are a question of their own.",
			"Asked.question.Freeform",
		),
		fidelity.Changed.Because(
			"An ACP agent asks for every consent as for a call.",
			"Asked.consent",
		),
		fidelity.Lost.Because(
			"An ACP agent tells the tokens of a turn, without their costs, and the costs of the session.",
			"UsageChanged.Last.Cost", "UsageChanged.Last.Estimated", "UsageChanged.Total.Estimated",
		),
		fidelity.Measured.Because(
			"The tokens of a session are added up here.",
			"UsageChanged.Total.In", "UsageChanged.Total.Out", "UsageChanged.Total.CacheRead", "UsageChanged.Total.CacheWrite",
			"UsageChanged.Total.Reasoning",
		),
		fidelity.Lost.Because(
			"An ACP agent does not say which model answered, and of its window only how full it is.",
			"UsageChanged.Model", "UsageChanged.Shares", "UsageChanged.CompactAt", "Compacted.Shares",
		),
		fidelity.Lost.Because(
			"An ACP agent tells the text of a summary alone.",
			"Compacted.Auto", "Compacted.Before", "Compacted.After",
		),
		fidelity.AsNotice.Because(
			"ACP has no message for a change of the model.",
			"FellBack",
		),
		fidelity.Changed.Because(
			"A gateway behind this one tells what its agents were told as thoughts.",
			"Briefed",
		),
		fidelity.AsText.Because(
			"The sources of an ACP agent are links in its answer.",
			"Cited",
		),
		fidelity.Lost.Because(
			"An ACP agent cannot forget what was said, so nobody can go back in its sessions.",
			"Truncated",
		),
		fidelity.Lost.Because(
			"ACP has one hint for all arguments of a command.",
			"Offered.Commands.Arguments.Description", "Offered.Commands.Arguments.Required",
		),
	}
}
