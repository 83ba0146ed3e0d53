package fidelity

import "sync"

// Topic is something that a conversation has, in users' words.
type Topic struct {
	Name  string
	Facts []Fact // with all their parts, unless another topic names these; of an event only that it happened
}

// Topics returns what users know of a conversation, in the order in which they are told of it.
// Every fact belongs to one topic, or is the gateway's own affair (Internal).
func Topics() []Topic {
	return []Topic{
		{"The agent's answer", []Fact{"TextDelta", "TextDelta.Text"}},
		{"Thoughts", []Fact{"ThoughtDelta", "ThoughtDelta.Text"}},
		{"Thinking time", []Fact{"ThoughtStarted", "ThoughtEnded", "ThoughtEnded.Took"}},
		{"Your messages", []Fact{"TurnStarted", "TurnStarted.Prompt.Text"}},
		{"Your messages: images, sounds and links", []Fact{"TurnStarted.Prompt.Image", "TurnStarted.Prompt.Audio", "TurnStarted.Prompt.Link"}},
		{"Your messages: files", []Fact{"TurnStarted.Prompt.Resource"}},
		{"Your messages while the agent works", []Fact{"Steered", "Steered.Prompt"}},
		{"What the agent is doing at the moment", []Fact{"Phase", "Phase.Kind", "Phase.Tool", "Phase.After"}},

		{"Tool calls: name, title and kind", []Fact{
			"CallChanged", "CallChanged.Call.Tool", "CallChanged.Call.Title", "CallChanged.Call.Kind",
		}},
		{"Tool calls: whose tool it is", []Fact{"CallChanged.Call.Server"}},
		{"Tool calls: arguments", []Fact{"CallChanged.Call.Args"}},
		{"Tool calls: arguments while they are written", []Fact{"CallArgs", "CallArgs.Text"}},
		{"Tool calls: state", []Fact{"CallChanged.Call.State"}},
		{"Tool calls: who or what decided, and what went wrong", []Fact{"CallChanged.Call.Why"}},
		{"Tool calls: places in files", []Fact{"CallChanged.Call.Locations"}},
		{"Tool calls: how long they took", []Fact{"CallChanged.Call.Start", "CallChanged.Call.End"}},
		{"Live output of a command", []Fact{"CallOutput", "CallOutput.Text"}},
		{"Results: text", []Fact{"CallChanged.Call.Content.Text"}},
		{"Results: images, sounds, links and files", []Fact{
			"CallChanged.Call.Content.Image", "CallChanged.Call.Content.Audio", "CallChanged.Call.Content.Link", "CallChanged.Call.Content.Resource",
		}},
		{"Results: structured data", []Fact{"CallChanged.Call.Output", "CallChanged.Call.Meta"}},
		{"Diffs", []Fact{"CallChanged.Call.Content.Diff"}},
		{"Moved files", []Fact{"CallChanged.Call.Content.Diff.From"}},
		{"The editor's own terminals", []Fact{"CallChanged.Call.Content.Terminal"}},
		{"Sub-agents", []Fact{"CallChanged.Call.Child"}},

		{"Approvals", []Fact{"Asked", "Asked.approval.Text", "Asked.approval.About"}},
		{"Approvals: the agent's own answers", []Fact{"Asked.approval.Options"}},
		{"Approvals: answers that are remembered", []Fact{"Asked.approval.Remember", "Asked.approval.Always"}},
		{"Consents, such as to the start of a server", []Fact{"Asked.consent.Text", "Asked.consent.Options"}},
		{"Questions", []Fact{"Asked.question.Text", "Asked.question.Options", "Asked.question.Freeform", "Asked.question.URL"}},
		{"Plan", []Fact{"PlanChanged", "PlanChanged.Entries"}},

		{"Tokens and costs", []Fact{"UsageChanged", "UsageChanged.Last", "UsageChanged.Total"}},
		{"How full the model's window is", []Fact{"UsageChanged.Context", "UsageChanged.Window"}},
		{"What fills the window", []Fact{"UsageChanged.Shares", "UsageChanged.CompactAt"}},
		{"Summaries of the conversation", []Fact{
			"Compacted", "Compacted.Summary", "Compacted.Auto", "Compacted.Before", "Compacted.After", "Compacted.Shares",
		}},
		{"Which model answered", []Fact{"UsageChanged.Model"}},
		{"Changes to another model after a failure", []Fact{"FellBack", "FellBack.Model", "FellBack.Instead", "FellBack.Reason"}},
		{"Notices", []Fact{"Notice", "Notice.Severity", "Notice.Text", "Missing", "Missing.Text", "Instructed", "Instructed.File"}},
		{"What an agent is told when it is chosen in the middle of a session", []Fact{"Briefed", "Briefed.Agent", "Briefed.Text"}},
		{"Sources of an answer", []Fact{"Cited", "Cited.Link"}},

		{"The agent's slash commands", []Fact{"Offered", "Offered.Commands"}},
		{"The agent's options", []Fact{"Offered.Choices"}},
		{"Choice of agent, model, effort and trust", []Fact{
			"SettingsChanged", "SettingsChanged.Settings.Agent", "SettingsChanged.Settings.Model", "SettingsChanged.Settings.Effort",
			"SettingsChanged.Settings.Trust",
		}},
		{"Title of the session", []Fact{"TitleChanged", "TitleChanged.Title"}},
		{"Marks on messages", []Fact{"Flagged", "Flagged.Text"}},
		{"Changes of files that were undone", []Fact{"Reverted", "Reverted.Files"}},
		{"Going back, and going on in another session", []Fact{"Truncated", "Moved"}},
		{"How a turn ended", []Fact{"TurnEnded", "TurnEnded.Stop", "TurnEnded.Err", "TurnEnded.Login"}},
		{"Updates that only one protocol has", []Fact{"Foreign", "Foreign.Method", "Foreign.Raw", "Foreign.Text", "Foreign.Content"}},
	}
}

// Internal lists the facts that are the gateway's own affair, with the reason. No list of losses
// has them.
func Internal() map[Fact]string {
	const (
		who      = "who prompted counts for rules, and is told to nobody"
		started  = "lists of sessions have it"
		others   = "prompts have no such blocks"
		answered = "an answer is found by it, or by its label"
		form     = "it decides whether and how somebody is asked"
		media    = "an update has images, sounds and links beside its text, and nothing else"
		by       = "who changed it is for the log"
		context  = "it is for the model, and no part of what the user said"
	)
	return map[Fact]string{
		"Opened":                           started,
		"Archived":                         started,
		"Claimed":                          "which process owns a session is the gateway's affair",
		"Notice.Refused":                   "it is by what a back end leaves parts out of requests; the text says it",
		"Bound":                            "it is by what a back end finds its side of the session",
		"Unknown":                          "a later version wrote it",
		"PromptQueued":                     "the message is shown when its turn begins",
		"Expanded":                         context,
		"Shortened":                        context,
		"Compacted.Step":                   context,
		"CallChanged.Call.Spill":           context,
		"TurnStarted.Standing":             context,
		"TurnStarted.Passing":              context,
		"TurnStarted.Key":                  "clients know their own prompts again by it",
		"TurnStarted.Origin":               who,
		"Steered.Origin":                   who,
		"TurnStarted.Prompt.Diff":          others,
		"TurnStarted.Prompt.Terminal":      others,
		"Steered.Prompt.Diff":              others,
		"Steered.Prompt.Terminal":          others,
		"ThoughtEnded.Sealed":              "it is for the model's provider",
		"Instructed.Text":                  context,
		"Missing.Records":                  "the text says it",
		"Missing.Final":                    "the text says it",
		"Asked.approval.Options.ID":        answered,
		"Asked.consent.Options.ID":         answered,
		"Asked.question.Options.ID":        answered,
		"Asked.approval.Hard":              form,
		"Asked.approval.Deadline":          form,
		"CallChanged.Call.Spent":           "the sub-session's own figures say it, and the limits count it",
		"Asked.consent.Deadline":           form,
		"Asked.consent.Hard":               form,
		"Asked.consent.Person":             form,
		"Asked.question.Deadline":          form,
		"Asked.question.Later":             form,
		"Asked.question.Secret":            form,
		"Answered":                         "the call that goes on, and the question that is withdrawn, show it",
		"TitleChanged.Auto":                "it decides whose title wins",
		"SettingsChanged.Settings.Choices": "the agent offers its options again, with their new values",
		"Asked.question.Options.Decision":  "answers to questions decide nothing",
		"SettingsChanged.By":               by,
		"Flagged.By":                       by,
		"Reverted.By":                      by,
		"Moved.Title":                      "the other session has its own title",
		"Truncated.By":                     by,
		"Offered.Agent":                    "whose options they are",
		"Offered.Commands.Kind":            "all of them are the agent's",
		"Offered.Commands.Needs":           "commands of ours alone have it",
		"Offered.Commands.Yields":          "commands of ours alone have it",
		"Offered.Commands.Unlisted":        "commands of ours alone have it",
		"Asked.approval.Options.Changes":   "it is read from the label, which is carried",
		"Asked.consent.Options.Changes":    "it is read from the label, which is carried",
		"Asked.question.Options.Changes":   "options of approvals alone have it",
		"Foreign.Content.Text":             media, "Foreign.Content.Resource": media, "Foreign.Content.Diff": media, "Foreign.Content.Terminal": media,
		"Foreign.Protocol":                  "it decides who gets the update",
		"CallChanged.Call.Content.Diff.Sum": "by it a moved file is found again", "CallChanged.Call.Content.Diff.Shown": "undoing asks for it",
	}
}

// IsInternal reports whether a fact is the gateway's own affair.
func IsInternal(f Fact) bool {
	for own := range internal() {
		if own.Has(f) {
			return true
		}
	}
	return false
}

var internal = sync.OnceValue(Internal)

// Parts returns the facts of each topic, by its index, and those that neither belong to one nor are
// internal.
func Parts() (of [][]Fact, left []Fact) {
	topics := Topics()
	owner := map[Fact]int{}
	for i, t := range topics {
		for _, f := range t.Facts {
			owner[f] = i
		}
	}
	of = make([][]Fact, len(topics))
	for _, f := range Facts() {
		if IsInternal(f) {
			continue
		}
		i, known := owner[f]
		for at := f.outer(); !known && at != Fact(f.Event()); at = at.outer() {
			i, known = owner[at]
		}
		if !known {
			left = append(left, f)
			continue
		}
		of[i] = append(of[i], f)
	}
	return of, left
}
