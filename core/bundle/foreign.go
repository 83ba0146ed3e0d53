package bundle

import (
	"fmt"
	"strings"
	"time"

	"dragoman/core"
	"dragoman/core/codec"
)

// notCallers begins the name of a program that has prompted or answered in the session of a file. No
// client gets such a name.
const notCallers = "file:"

// foreign returns an event as it is imported; seq is its number. The package comment has the reasons.
func (s *session) foreign(ev core.Event, seq uint64) (core.Event, error) {
	switch e := ev.(type) {
	case core.Opened, core.Phase, nil:
		return nil, errForm
	case core.PromptQueued:
		e.Key, e.Origin, e.Prompt = "", s.origin(e.Origin), shown(e.Prompt)
		return e, nil
	case core.TurnStarted:
		e.Key, e.Origin = "", s.origin(e.Origin)
		e.Prompt, e.Standing = shown(e.Prompt), shown(e.Standing)
		e.Passing = min(max(e.Passing, 0), len(e.Prompt))
		return e, nil
	case core.Steered:
		e.Origin, e.Prompt = s.origin(e.Origin), shown(e.Prompt)
		return e, nil
	case core.Answered:
		if e.Reply.Remember != "" && e.Reply.Caller == "person" { // as a person is called only in answers that are remembered
			e.Reply.Caller = ""
		}
		e.Reply.Remember, e.Reply.Principal, e.Reply.Caller = "", s.file.Principal, caller(e.Reply.Caller)
		return e, nil
	case core.ThoughtEnded:
		e.Took, e.Sealed = max(e.Took, 0), nil
		return e, nil
	case core.CallChanged:
		e.Call.Child, e.Call.Spill = s.file.ids[e.Call.Child], ""
		e.Call.Start, e.Call.End = s.been(e.Call.Start), s.been(e.Call.End)
		e.Call.Content = shown(e.Call.Content)
		return e, nil
	case core.SettingsChanged:
		e.Settings.Trust, e.Settings.Choices = false, ""
		s.set = e.Settings
		return e, nil
	case core.Bound:
		return core.Bound{Agent: e.Agent}, nil
	case core.Offered:
		return core.Offered{}, nil
	case core.Foreign:
		return core.Foreign{Text: e.Text, Content: shown(e.Content)}, nil
	case core.Moved:
		if to := s.file.ids[e.To]; to != "" {
			e.To = to
			return e, nil
		}
		return core.Notice{Severity: core.Info, Text: "The user went on in another session."}, nil
	case core.TurnEnded:
		e.Login = ""
		return e, nil
	case core.Truncated:
		if e.After.Seq > seq {
			return nil, fmt.Errorf("record %d hides records behind itself", seq)
		}
		return e, nil
	case core.Missing:
		e.Final = true
		s.file.info.Missing += e.Records
		return e, nil
	case core.Unknown:
		return core.Notice{Severity: core.Info, Text: fmt.Sprintf(
			"A record was left out of the import: this version of dragoman does not know %.40q.", e.Kind,
		)}, nil
	case core.TitleChanged:
		if s.main {
			s.file.info.Title = e.Title
		}
		return e, nil
	case core.Claimed, core.Expanded, core.TextDelta, core.ThoughtStarted, core.ThoughtDelta, core.CallArgs, core.CallOutput,
		core.Asked, core.PlanChanged, core.UsageChanged, core.Archived, core.Notice, core.FellBack, core.Instructed,
		core.Briefed, core.Flagged, core.Compacted, core.Shortened, core.Reverted, core.Cited:
		return ev, nil
	}
	return nil, errForm
}

func (s *session) origin(o core.Origin) core.Origin {
	o.Principal, o.Caller = s.file.Principal, caller(o.Caller)
	return o
}

func caller(c core.Caller) core.Caller {
	if c == "" {
		return ""
	}
	const most = 100
	return notCallers + c[:min(len(c), most)]
}

// been returns a time of a call; the zero time stays.
func (s *session) been(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return s.past(t)
}

// shown returns blocks that can only be looked at. No list stays none, which is not an empty one.
func shown(blocks []core.Block) []core.Block {
	if blocks == nil {
		return nil
	}
	list := make([]core.Block, 0, len(blocks))
	for _, b := range blocks {
		switch b := b.(type) {
		case core.Diff:
			b.Shown = true
			list = append(list, b)
		case core.Resource:
			if strings.HasPrefix(b.URI, codec.ForeignBlock) { // it would be stored as what its text says, such as a Diff
				list = append(list, core.Text{Text: "[" + b.Text + "]"})
				continue
			}
			list = append(list, b)
		case core.Terminal:
		case core.Text, core.Image, core.Audio, core.Link:
			list = append(list, b)
		}
	}
	return list
}
