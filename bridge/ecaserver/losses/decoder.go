// Package losses lists what agents that serve ECA do not tell, or tell in another way.
package losses

import "dragoman/core/fidelity"

// Decoder lists the facts that no message of an agent becomes, or not as they were, for an agent that
// serves ECA, today's document, and says everything that it can. Ids are in no list: each gateway makes its
// own, so two messages that follow one another are one.
func Decoder() []fidelity.Loss {
	return []fidelity.Loss{
		fidelity.Lost.Because(
			"An ECA server takes no sounds.",
			"TurnStarted.Prompt.Audio",
		),
		fidelity.Lost.Because(
			"Of a link or a file that is no text an ECA server gets the address, and of an image its data.",
			"TurnStarted.Prompt.Image.URI", "TurnStarted.Prompt.Link.Title", "TurnStarted.Prompt.Link.Description",
			"TurnStarted.Prompt.Link.MIME", "TurnStarted.Prompt.Link.Size", "TurnStarted.Prompt.Resource.MIME", "TurnStarted.Prompt.Resource.Blob",
		),
		fidelity.InPart.Because(
			"The name of a link stands in the message for an ECA server where the link is between texts.",
			"TurnStarted.Prompt.Link.Name",
		),
		fidelity.Lost.Because(
			"A message to the turn of an ECA server is its text.",
			"Steered.Prompt.Image", "Steered.Prompt.Audio",
		),
		fidelity.AsText.Because(
			"What a message to the turn of an ECA server mentions is an address behind its text.",
			"Steered.Prompt.Link", "Steered.Prompt.Resource",
		),
		fidelity.InPart.Because(
			"An ECA server says in its own words what it is doing: those of known servers are understood, and others mean that it waits.",
			"Phase.Kind",
		),
		fidelity.Lost.Because(
			"An ECA server has no member for what a turn waits for.",
			"Phase.Tool", "Phase.After",
		),
		fidelity.InPart.Because(
			"The title of an ECA server's call that is asked about has its command line beside it.",
			"CallChanged.Call.Title",
		),
		fidelity.InPart.Because(
			"ECA has no kinds of calls; that of an ECA server's call is found by the names of known tools, and by what it changes or runs.",
			"CallChanged.Call.Kind",
		),
		fidelity.InPart.Because(
			"A tool that an ECA server brings itself is the agent's.",
			"CallChanged.Call.Server",
		),
		fidelity.Changed.Because(
			"An ECA server does not say why a call may run; what was decided here is said.",
			"CallChanged.Call.Why",
		),
		fidelity.Measured.Because(
			"An ECA server has no times of a call; they are taken here.",
			"CallChanged.Call.Start", "CallChanged.Call.End",
		),
		fidelity.InPart.Because(
			"Of the places of an ECA server's call the changed file is known.",
			"CallChanged.Call.Locations",
		),
		fidelity.Lost.Because(
			"ECA has no output of a running command; its result has all of it.",
			"CallOutput",
		),
		fidelity.InPart.Because(
			"The texts of an ECA server's call come with its result: one that was stopped has none.",
			"CallChanged.Call.Content.Text",
		),
		fidelity.Changed.Because(
			"An image of an ECA server's result follows the call as a message of its own.",
			"CallChanged.Call.Content.Image",
		),
		fidelity.AsText.Because(
			"ECA has results that are text, and images beside them; other content is named, and files are shown as text.",
			"CallChanged.Call.Content.Audio", "CallChanged.Call.Content.Link", "CallChanged.Call.Content.Resource",
		),
		fidelity.InPart.Because(
			"An ECA server has one patch for all changes of a call; of the files before and after these are the lines that the patch has.",
			"CallChanged.Call.Content.Diff",
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
			"ECA has no terminals of the editor.",
			"CallChanged.Call.Content.Terminal",
		),
		fidelity.InPart.Because(
			"An ECA server has a structured result for the tools of MCP servers, and only beside a text.",
			"CallChanged.Call.Output",
		),
		fidelity.Changed.Because(
			"Of an ECA server's call its details are kept for ECA clients, and no other data.",
			"CallChanged.Call.Meta",
		),
		fidelity.Changed.Because(
			"Our own rules decide whether an ECA server's question is put to somebody, and say why.",
			"Asked.approval.Text", "Asked.approval.About",
		),
		fidelity.Changed.Because(
			"An ECA server asks whether a call may run or not; one that has answers of its own asks a question with their words.",
			"Asked.approval.Options", "Asked.approval.Remember", "Asked.approval.Always",
		),
		fidelity.Changed.Because(
			"An ECA server asks for a consent as a question.",
			"Asked.consent",
		),
		fidelity.InPart.Because(
			"Invisible characters of an ECA server's question are left out.",
			"Asked.question.Text",
		),
		fidelity.InPart.Because(
			"Line ends and invisible characters of a step of an ECA server's plan are left out.",
			"PlanChanged.Entries.Text",
		),
		fidelity.AsText.Because(
			"A page that an ECA server wants opened is an address in its question.",
			"Asked.question.URL",
		),
		fidelity.Lost.Because(
			"ECA counts tokens that go in and come out, and does not tell apart which came from a cache, were for thinking, or are estimates.",
			"UsageChanged.Last.CacheRead", "UsageChanged.Last.CacheWrite", "UsageChanged.Last.Reasoning", "UsageChanged.Last.Estimated",
			"UsageChanged.Total.CacheRead", "UsageChanged.Total.CacheWrite", "UsageChanged.Total.Reasoning", "UsageChanged.Total.Estimated",
		),
		fidelity.Measured.Because(
			"The tokens of a session are added up here.",
			"UsageChanged.Total.In", "UsageChanged.Total.Out",
		),
		fidelity.InPart.Because(
			"An ECA server that does not say what fills its window says how full it is only by the tokens of the last answer.",
			"UsageChanged.Context", "UsageChanged.CompactAt",
		),
		fidelity.Changed.Because(
			"An ECA server does not say which model has answered, so the one that was chosen is named.",
			"UsageChanged.Model",
		),
		fidelity.AsNotice.Because(
			"What an ECA server tells the user besides the answer is a line of the chat, and becomes a notice.",
			"Missing", "Instructed", "FellBack", "Compacted", "Reverted",
		),
		fidelity.Lost.Because(
			"A line of the chat has no severity in ECA.",
			"Notice.Severity",
		),
		fidelity.Lost.Because(
			"The chat says that there is a summary, and not which.",
			"Compacted.Summary", "Compacted.Shares",
		),
		fidelity.Changed.Because(
			"A gateway behind this one tells what its agents were told as thoughts.",
			"Briefed",
		),
		fidelity.Lost.Because(
			"A source in ECA has a title and an address.",
			"Cited.Link.Name", "Cited.Link.Description", "Cited.Link.MIME", "Cited.Link.Size",
		),
		fidelity.Changed.Because(
			"A mark that an ECA server sets is shown where it was set, because clients set marks of their own.",
			"Flagged",
		),
		fidelity.Lost.Because(
			"An ECA server that takes back messages, or goes on in another chat, is asked for neither, so what was said stays.",
			"Truncated", "Moved",
		),
		fidelity.AsNotice.Because(
			"A turn of an ECA server ends with \"finished\", whatever the reason; the reason is a line of the chat before it.",
			"TurnEnded.Stop", "TurnEnded.Err",
		),
		fidelity.Changed.Because(
			"An ECA server that wants a login for a provider of models is the agent that has to be logged in.",
			"TurnEnded.Login",
		),
		fidelity.Lost.Because(
			"An ECA server has agents, models and variants, which have no other names, and no groups.",
			"Offered.Choices.Description", "Offered.Choices.Values.Description", "Offered.Choices.Values.Group",
		),
	}
}
