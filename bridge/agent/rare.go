package agent

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
)

// rare handles the updates that are not on the hot path. meta means that the update has a _meta. That of
// a state that clients replace as a whole is handed on by the update itself, behind the event; those of
// choices, commands, notices, compactions and sub-agents are not, because we describe these ourselves.
func (f *flow) rare(kind string, raw json.RawMessage, meta bool) {
	var known bool
	beside := raw
	switch kind {
	case "plan":
		known = take(raw, f.plan)
	case "available_commands_update":
		known = take(raw, f.commands)
	case "current_mode_update":
		known = take(raw, func(u acp.ModeUpdate) { f.itself(func() { f.mode(u.CurrentModeID) }) })
	case "config_option_update":
		known = take(raw, func(u opened) { f.itself(func() { f.options(u) }) })
	case "session_info_update":
		known = take(raw, f.info)
		beside = wire.Edit(raw, wire.Set("title", nil)) // what is left out stays
	case "usage_update":
		known = take(raw, func(u acp.UsageUpdate) {
			f.usage(u)
			meta = meta || u.Cost != nil && !inDollars(u.Cost)
		})
	case "notice":
		known = take(raw, f.notice)
	case "compaction_update":
		known = take(raw, f.compaction)
	case acp.CompactionChunk:
		_ = take(raw, f.summarized) // it is passed on as well
	case acp.UpdateSubagent:
		known = take(raw, f.c.subagent)
	case acp.UpdateSessionMessage, acp.SessionMessageChunk:
		f.letter(raw)
		known = true
	}
	if !known {
		f.foreign(raw, "")
		return
	}
	switch kind {
	case "plan", "session_info_update", "usage_update":
		if meta && !f.c.stage.Muted() {
			f.emitApart(f.kept(beside, ""))
		}
	}
}

// inDollars reports whether we can add a cost to others.
func inDollars(c *acp.Cost) bool { return strings.EqualFold(c.Currency, "USD") }

// take decodes an update and hands it on; false: it has another form.
func take[T any](raw json.RawMessage, to func(T)) bool {
	var u T
	if wire.Unmarshal(raw, &u) != nil {
		return false
	}
	to(u)
	return true
}

func (f *flow) plan(u acp.Plan) {
	entries := make([]core.PlanEntry, len(u.Entries))
	for i, e := range u.Entries {
		entries[i] = core.PlanEntry{Text: e.Content, Status: core.PlanStatus(e.Status), Priority: string(e.Priority)}
	}
	f.emit(core.PlanChanged{Entries: entries})
}

// infoUpdate is the update session_info_update. A title of null removes it, one that is left out stays.
type infoUpdate struct {
	Title json.RawMessage `json:"title"`
}

// info takes a title, unless a person has named the session, or the agent would name it by a brief.
func (f *flow) info(u infoUpdate) {
	t := f.c.stage.Current()
	f.c.mu.Lock()
	briefed := f.c.briefed
	f.c.mu.Unlock()
	title, removed := strings.TrimSpace(jsonscan.Text(u.Title)), string(u.Title) == "null"
	switch {
	case briefed, t != nil && t.State().Named:
	case title != "", removed && (t == nil || t.State().Title != ""):
		f.emitApart(core.TitleChanged{Title: title, Auto: true})
	}
}

// emitApart adds an event that needs no turn: in the one that runs, or without one.
func (f *flow) emitApart(ev core.Event) {
	if in := f.c.imports(); in != nil {
		in.Apart(ev)
		return
	}
	f.c.stage.Apart(ev)
}

func (f *flow) notice(u acp.Notice) {
	text := u.Title
	if u.Description != "" {
		text += "\n" + u.Description
	}
	severity := core.Info
	switch u.Severity {
	case string(core.Warning), string(core.Failure):
		severity = core.Severity(u.Severity)
	}
	f.emitApart(core.Notice{Severity: severity, Text: text})
}

// maxSummary limits the summary that is kept of a compaction, in bytes.
const maxSummary = 64 << 10

// compaction shows that the agent replaces its history by a summary. Its end has the next phase with
// it: a client gets the newest phase behind everything else, and that must not be the one that is over.
func (f *flow) compaction(u acp.CompactionUpdate) {
	id := f.c.stage.Current().ID()
	over := core.Phase{Turn: id, Kind: core.PhaseWaiting}
	switch u.Status {
	case "in_progress":
		f.summary = ""
		f.emit(core.Phase{Turn: id, Kind: core.PhaseCompacting})
	case "completed":
		var text []string
		for _, b := range u.Summary {
			if b.Text != nil {
				text = append(text, *b.Text)
			}
		}
		if len(text) == 0 {
			text = []string{f.summary}
		}
		f.summary = ""
		f.emit(core.Compacted{Turn: id, Summary: display.Cut(strings.Join(text, "\n"), maxSummary), Auto: true}, over)
	case "failed", "cancelled":
		f.summary = ""
		f.emit(over)
	}
}

// summarized takes a piece of the summary that a compaction ends with.
func (f *flow) summarized(u acp.CompactionSummary) {
	if u.Content.Text != nil {
		f.summary = display.Cut(f.summary+*u.Content.Text, maxSummary)
	}
}

// tally is what a conversation counts.
type tally struct {
	rejected     bool // a call was refused in the turn that runs
	used, window int
	cost         *float64 // the agent's running total; nil: it has given none
	counted      *float64 // how much of it the log has; nil: not known
}

func (f *flow) usage(u acp.UsageUpdate) {
	c := f.c
	t := c.stage.Current()
	var before core.Usage
	if t != nil {
		before = t.State().Usage
	}
	c.mu.Lock()
	c.tally.used, c.tally.window = u.Used, u.Size
	if u.Cost != nil && inDollars(u.Cost) {
		amount := u.Cost.Amount
		c.tally.cost = &amount
	}
	if t == nil { // an import: the next turn's usage counts
		c.tally.counted = c.tally.cost
		c.mu.Unlock()
		return
	}
	total := before
	total.Cost = c.tally.add(before.Cost, c.bind.State != nil)
	now := c.tally
	c.mu.Unlock()
	e := core.UsageChanged{Turn: t.ID(), Total: total, Context: now.used, Window: now.window}
	f.emitApart(e)
	spent := e.Since(before)
	if u.Cost == nil || !inDollars(u.Cost) { // it says nothing about dollars
		spent.Cost = nil
	}
	report(t, spent)
}

// add returns a session's cost with what the agent's running total has grown by since it was added last. The cost
// of a session that the agent continues is its total of before, unless it counts anew.
func (l *tally) add(cost *float64, continued bool) *float64 {
	if l.cost == nil {
		return cost
	}
	sum, was := 0.0, 0.0
	if cost != nil {
		sum = *cost
	}
	if l.counted != nil {
		was = *l.counted
	} else if continued {
		was = sum
	}
	if was > *l.cost {
		was = 0
	}
	sum += *l.cost - was
	l.counted = l.cost
	return &sum
}

// report tells the limits of a turn what it has spent.
func report(t *core.Turn, spent core.Usage) {
	if l := t.Limits(); l != nil {
		l.Report(t, spent)
	}
}

// count adds the tokens of a turn, if the agent has counted them.
func (c *conversation) count(ctx context.Context, t *core.Turn, last *core.Usage) {
	if last == nil {
		return
	}
	c.mu.Lock()
	now := c.tally
	c.mu.Unlock()
	spent := *last
	spent.In += spent.CacheRead + spent.CacheWrite // the protocol counts these apart
	before := t.State().Usage
	total := before.Add(spent)
	total.Cost = before.Cost // the agent gives it apart
	context := now.used
	if context == 0 {
		context = spent.In + spent.Out
	}
	_ = t.Emit(ctx, core.UsageChanged{Turn: t.ID(), Last: spent, Total: total, Context: context, Window: now.window}) // a stopped turn shows in ctx
	report(t, spent)
}

// commands takes the agent's slash commands.
func (f *flow) commands(u acp.CommandsUpdate) {
	list := make([]core.Command, 0, len(u.AvailableCommands))
	for _, a := range u.AvailableCommands {
		cmd := core.Command{Kind: core.CommandAgent, Name: strings.TrimPrefix(a.Name, "/"), Description: a.Description}
		if a.Input != nil {
			cmd.Arguments = []core.Argument{{Name: a.Input.Hint}}
		}
		list = append(list, cmd)
	}
	c := f.c
	c.mu.Lock()
	same := c.offered.Commands != nil && reflect.DeepEqual(c.offered.Commands, list)
	c.offered.Commands = list
	c.mu.Unlock()
	c.bind.Offer(list)
	if !same {
		f.offer()
	}
}
