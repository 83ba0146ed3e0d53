package coretest

import (
	"encoding/json"
	"time"

	"dragoman/core"
)

// epoch0 is the time of the first sample.
var epoch0 = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// Awkward is text that codecs and encoders often get wrong: quotes, control and line
// characters, HTML, characters outside of the basic plane, and U+2028.
const Awkward = "a \"quoted\" back\\slash\n\ttab\r\x00\x1b[31m </script> & \u00e9 \u2028 \U0001F600 \ufeff end"

// Samples returns events, at least one of every kind, in an order that is possible in
// a session. They contain every type of block and every field; texts are awkward on
// purpose. Each call returns new values.
func Samples() []core.Event {
	start, end := epoch0.Add(time.Second), epoch0.Add(1500*time.Millisecond+7*time.Nanosecond)
	cost, total := 0.0125, 1.0/3
	origin := core.Origin{
		Client: "editor " + Awkward, Principal: core.Local,
		Caller: "x1", Hops: 2, Approvals: core.ApprovalsReadOnly,
	}
	call := core.Call{
		ID: "c1", Turn: "t1", Server: core.Native, Tool: "edit_file",
		Kind: core.KindEdit, State: core.Proposed,
	}
	with := func(change func(*core.Call)) core.CallChanged {
		change(&call)
		return core.CallChanged{Call: call}
	}
	return []core.Event{
		core.Opened{Meta: core.Meta{
			ID: "s1 " + Awkward, Principal: core.Local, Cwd: "/home/ada/app",
			Roots:  []string{"/home/ada/app", "/srv/\"odd\" dir"},
			Parent: "s0", ParentAgent: "code", Forks: 1, Created: epoch0,
		}},
		core.Claimed{Epoch: 3, Node: "laptop, process 4711", After: core.Pos{Epoch: 2, Seq: 1, Off: 0}},
		core.TitleChanged{Title: "Rename the \"thing\"", Auto: true},
		core.Archived{Archived: true, By: "zed"},
		core.SettingsChanged{
			Settings: core.Settings{Agent: "main", Model: "offline/demo", Effort: "high", Trust: true},
			By:       "zed",
		},
		core.TurnStarted{
			Turn: "t1", Message: "m1", Key: "k1", Origin: origin, Prompt: Blocks(),
			Passing: 2, Standing: Blocks(),
		},
		core.Phase{
			Turn:  "t1",
			Kind:  core.PhaseRetrying,
			Tool:  "edit_file",
			After: 1500 * time.Millisecond,
		},
		core.ThoughtStarted{Thought: "h1"},
		core.ThoughtDelta{Thought: "h1", Text: "thinking " + Awkward},
		core.ThoughtEnded{
			Thought: "h1",
			Took:    2*time.Second + 1,
			Sealed:  json.RawMessage(`{"signature": "<&>", "n": 12345678901234567890}`),
		},
		core.TextDelta{Message: "m2", Text: "I will "},
		core.TextDelta{Message: "m2", Text: Awkward},
		with(func(*core.Call) {}),
		core.CallArgs{Call: "c1", Text: `{"path":"/home/ada`},
		core.CallArgs{Call: "c1", Text: `/app/x.go"}`},
		with(func(c *core.Call) {
			c.Args, c.Title = json.RawMessage(`{"path": "/home/ada/app/x.go", "big": 12345678901234567890.10}`), "edit x.go"
			c.Locations = []core.Location{{Path: "/home/ada/app/x.go", Line: 12}, {Path: "/home/ada/app/y.go"}}
			c.Content = []core.Block{
				core.Diff{
					Path:    "/home/ada/app/x.go",
					Old:     "old\n",
					New:     Awkward,
					Patch:   "@@ -1 +1 @@\n",
					Added:   1,
					Removed: 1,
				},
			}
		}),
		with(func(c *core.Call) { c.State = core.Awaiting }),
		core.Asked{Ask: core.Ask{
			ID: "a1", Kind: core.AskApproval, Turn: "t1", Call: "c1",
			Text: "edit_file changes x.go", Deadline: epoch0.Add(time.Hour),
			Remember: "every edit in /home/ada/app", Hard: true,
		}},
		core.Answered{Ask: "a1", Reply: core.Reply{
			Outcome: core.OutcomeDecided, Decision: core.AllowSession, By: "zed",
			Principal: core.Local, Caller: "x1", Remember: "edit:/home/ada/app",
			Text: "go on " + Awkward,
		}},
		with(func(c *core.Call) { c.State, c.Why, c.Start = core.Running, "allowed by zed", start }),
		core.CallOutput{Call: "c1", Text: "wrote 1 line\n"},
		with(func(c *core.Call) { c.Title = "edit x.go: 50 %" }),
		with(func(c *core.Call) {
			c.State, c.End, c.Child, c.Spill = core.Succeeded, end, "s2", "/data/spills/output-1.txt"
			c.Content = Blocks()
			c.Output, c.Meta = json.RawMessage("{\n  \"lines\": 1\n}"), json.RawMessage(`{"vendor/x":[1,2.50,null]}`)
		}),
		core.PlanChanged{
			Entries: []core.PlanEntry{
				{Text: "look", Status: core.PlanDone},
				{Text: Awkward, Status: core.PlanActive, Priority: "high"},
			},
		},
		core.Asked{Ask: core.Ask{
			ID: "a2", Kind: core.AskQuestion, Turn: "t1",
			Text: "which one?", Freeform: true, Deadline: epoch0.Add(time.Hour),
			Options: []core.Option{{ID: "o1", Label: "this", Description: "the first"}, {ID: "o2", Label: "that"}},
		}},
		core.Answered{
			Ask:   "a2",
			Reply: core.Reply{Outcome: core.OutcomeAnswered, Option: "o2", By: "zed"},
		},
		core.Asked{Ask: core.Ask{
			ID:       "a3",
			Kind:     core.AskConsent,
			Turn:     "t1",
			Text:     "may it start?",
			Deadline: epoch0.Add(time.Hour),
			Options: []core.Option{
				{ID: "start", Label: "Start it", Description: "now", Decision: core.AllowOnce},
				{ID: "no", Label: "Do not", Decision: core.RejectOnce},
			},
		}},
		core.Answered{Ask: "a3", Reply: core.Reply{Outcome: core.OutcomeAnswered, Option: "start", By: "zed"}},
		core.Asked{Ask: core.Ask{
			ID:       "a4",
			Kind:     core.AskApproval,
			Turn:     "t1",
			Call:     "c1",
			Text:     "an agent's own list",
			Deadline: epoch0.Add(time.Hour),
			Options: []core.Option{
				{ID: "yes", Label: "Yes, and accept edits", Description: "from now on", Decision: core.AllowSession},
				{ID: "plan", Label: "Keep planning", Decision: core.RejectOnce},
			},
		}},
		core.Answered{Ask: "a4", Reply: core.Reply{Outcome: core.OutcomeDecided, Decision: core.RejectOnce, Option: "plan", By: "zed"}},
		core.PromptQueued{Turn: "t2", Key: "k2", Origin: origin, Prompt: []core.Block{core.Text{Text: "and then?"}}},
		core.Steered{
			Turn:    "t1",
			Message: "m3",
			Origin:  core.Origin{Client: "emacs"},
			Prompt:  Blocks(),
		},
		core.UsageChanged{
			Turn: "t1",
			Last: core.Usage{In: 10, Out: 20, CacheRead: 3, CacheWrite: 4, Reasoning: 5, Cost: &cost},
			Total: core.Usage{
				In:        100,
				Out:       200,
				Cost:      &total,
				Estimated: true,
			},
			Model:   "offline/demo",
			Context: 130,
			Window:  200_000,
			Shares:  []core.Share{{Part: "system", Tokens: 30}, {Part: "messages", Tokens: 100}},
		},
		core.Bound{Agent: "claude", State: json.RawMessage(`{"sessionId":"0198-abc"}`)},
		core.Bound{Agent: "codex", State: json.RawMessage(`{}`), Heard: core.Pos{Epoch: 3, Seq: 17}},
		core.Flagged{Message: "m1", Text: "here " + Awkward, By: "editor"},
		core.Expanded{Message: "m1", Text: "Review " + Awkward},
		core.Compacted{
			Turn:    "t1",
			Summary: "What was said: " + Awkward,
			Auto:    true,
			Step:    true,
			Before:  130_000,
			After:   900,
			Shares:  []core.Share{{Part: "messages", Tokens: 900}},
		},
		core.Shortened{Turn: "t1", Excerpts: []core.Excerpt{
			{Call: "c1", From: [2]int{0, 120}, To: [2]int{2, 7}, Note: "[lines 4–90 are left out " + Awkward + "]"},
			{Message: "m1", From: [2]int{1, 0}, To: [2]int{2, 0}, Note: "[a picture is left out]"},
		}},
		core.Cited{Message: "m2", Link: core.Link{URI: "https://example.com/source", Name: "source", Title: "A source", Description: "of it", MIME: "text/html"}},
		core.Moved{To: "s3", Title: "A copy"},
		core.Reverted{
			Files: []core.RevertedFile{
				{Path: "/home/ada/app/x.go"},
				{Path: "/home/ada/app/y.go", Why: "it has changed since"},
			},
			By: "emacs",
		},
		core.Notice{Severity: core.Warning, Text: "the disk is nearly full " + Awkward},
		core.Notice{Severity: core.Warning, Text: "a/b refused a picture", Refused: &core.Refused{Model: "a/b", Parts: []string{"picture:0a1b"}}},
		core.Missing{Records: 3, Text: "3 records are missing " + Awkward},
		core.Instructed{
			Turn: "t1",
			File: "/w/sub/AGENTS.md",
			Text: "<instructions>" + Awkward + "</instructions>",
		},
		core.Briefed{Turn: "t1", Agent: "codex", Text: "User: hello " + Awkward},
		core.FellBack{Turn: "t1", Model: "groq/x", Instead: "openai/y", Reason: "overloaded " + Awkward},
		core.TurnEnded{Turn: "t1", Stop: core.StopError, Err: "model offline/demo: overloaded"},
		core.Truncated{After: core.Pos{Epoch: 3, Seq: 4, Off: 0}, By: "zed"},
		core.Foreign{Protocol: "acp", Raw: json.RawMessage(`{"sessionUpdate":"_later","n":1.50}`), Text: "an update"},
		core.Foreign{Protocol: "acp", Method: "_vendor/later", Raw: json.RawMessage(`{"n":1.50}`), Text: "a notification"},
		core.Foreign{Protocol: "acp", Raw: json.RawMessage(`{"sessionUpdate":"_image"}`), Text: "[image]", Content: []core.Block{core.Image{MIME: "image/png", Data: []byte("\x89PNG")}}},
		core.Foreign{Protocol: "acp", Raw: json.RawMessage(`{"sessionUpdate":"_media"}`), Text: "[media]", Content: Blocks()[2:4]},
		core.Offered{
			Agent:    "claude",
			Commands: []core.Command{{Kind: core.CommandAgent, Name: "review", Description: "Reviews", Arguments: []core.Argument{{Name: "what"}}}},
			Choices:  []core.Choice{{ID: "mode", Name: "Mode", Category: "mode", Value: "plan", Values: []core.ChoiceValue{{ID: "plan", Name: "Plan"}}}},
		},
		core.Unknown{Kind: "from_later", Raw: json.RawMessage(`{"a":[1,{"b":"<c>"}],"n":1e400}`)},
	}
}

// Blocks returns content with at least one of every type of block.
func Blocks() []core.Block {
	return []core.Block{
		core.Text{Text: "please look at this: " + Awkward},
		core.Image{MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n"), URI: "file:///home/ada/a.png"},
		core.Audio{MIME: "audio/wav", Data: []byte("RIFF\x00\xff")},
		core.Link{
			URI:         "https://example.com/?a=1&b=<2>",
			Name:        "page",
			Title:       "A page",
			Description: "about it",
			MIME:        "text/html",
			Size:        1 << 40,
		},
		core.Resource{
			URI:   "file:///home/ada/app/x.go",
			MIME:  "text/x-go",
			Text:  "package x\n",
			Lines: [2]int{3, 7},
		},
		core.Resource{URI: "file:///home/ada/a.bin", Blob: []byte{0, 1, 2, 255}},
		core.Diff{
			Path:    "/home/ada/app/new.go",
			New:     "package x\n",
			Created: true,
			Patch:   "@@ -0,0 +1 @@\n+package x\n",
			Added:   1,
		},
		core.Diff{Path: "/home/ada/app/old.go", Old: "gone\n", Removed: 1, Shown: true},
		core.Diff{
			Path:  "/home/ada/app/to.go",
			From:  "/home/ada/app/from.go",
			Sum:   "9f86",
			Patch: "rename from from.go\n",
		},
		core.Terminal{ID: "term-1"},
	}
}

// Records numbers events like a log of one epoch: the pieces of one run share a Seq,
// and events that are live only (Phase) have none. Successive events are one second
// apart.
func Records(epoch uint64, events ...core.Event) []core.Record {
	records := make([]core.Record, 0, len(events))
	var at core.Pos
	for i, ev := range events {
		r := core.Record{Epoch: epoch, Time: epoch0.Add(time.Duration(i) * time.Second), Event: ev}
		if _, live := ev.(core.Phase); !live {
			r.Seq, r.Off = place(at, ev, records)
			at = r.End()
		}
		records = append(records, r)
	}
	return records
}

// place returns the place of an event after records, which end at at.
func place(at core.Pos, ev core.Event, records []core.Record) (seq, off uint64) {
	seq = max(at.Seq, 1)
	if at.Off == 0 {
		return seq, 0
	}
	for i := len(records) - 1; i >= 0; i-- {
		if records[i].Seq == 0 {
			continue
		}
		if stream(records[i].Event) == stream(ev) {
			return seq, at.Off
		}
		break
	}
	return seq + 1, 0
}

// stream names the stream of a delta; other events have the empty name.
func stream(ev core.Event) string {
	switch ev := any(ev).(type) {
	case core.TextDelta:
		return "text " + string(ev.Message)
	case core.ThoughtDelta:
		return "thought " + string(ev.Thought)
	case core.CallArgs:
		return "args " + string(ev.Call)
	case core.CallOutput:
		return "output " + string(ev.Call)
	}
	return ""
}
