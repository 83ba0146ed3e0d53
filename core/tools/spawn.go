package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/delegate"
	"dragoman/core/display"
	"dragoman/core/inference"
)

// Subagent is an agent that tasks can be delegated to.
type Subagent struct {
	Name        string // as in the profile
	Description string // for the model that chooses an agent
	MaxSteps    int    // maximum number of calls, to be shown; 0: no limit is shown
}

// progress counts the steps of a task, for clients that show it: the call's Meta.
type progress struct {
	Agent    string `json:"agent"`
	Model    string `json:"model,omitempty"`
	Step     int    `json:"step"`
	MaxSteps int    `json:"max_steps,omitempty"`
}

// spawnAgent is the name of the tool that delegates tasks.
const spawnAgent = "spawn_agent"

// spawnTool returns the tool that delegates tasks to other agents; nil: there are
// none, or this session is itself a task.
func (s *toolset) spawnTool() *tool {
	m := s.host.Meta()
	if s.opts.Subagents == nil || m.Parent != "" {
		return nil
	}
	agents := s.opts.Subagents(s.host)
	if len(agents) == 0 {
		return nil
	}
	return &tool{set: s, native: s.box.spawner(agents)}
}

// spawner returns the tool that delegates to these agents. Sessions share it: they mostly have the
// same agents, and its schema lists them.
func (b *toolbox) spawner(agents []Subagent) *native {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spawn == nil || !slices.Equal(b.agents, agents) {
		b.agents = agents
		b.spawn = &native{new(spawnSpec(agents)), func(s *toolset, _ context.Context, a *args) (*step, error) {
			return s.prepareSpawn(a, agents)
		}}
	}
	return b.spawn
}

// spawnSpec is ReadOnly: the call itself has no effect. The agent acts there by calls
// of its own, which are judged like any others.
func spawnSpec(agents []Subagent) core.Spec {
	var list strings.Builder
	names := make([]string, len(agents))
	for i, a := range agents {
		names[i] = a.Name
		fmt.Fprintf(&list, "\n- %s: %s", a.Name, strings.TrimSpace(a.Description))
	}
	enum, err := json.Marshal(names)
	if err != nil {
		enum = []byte("[]")
	}
	return core.Spec{
		Server: core.Native,
		Name:   spawnAgent,
		Title:  "Hand over a task",
		Description: "Hands a task to another agent, which works on it in a session of its own and returns its last words. It knows nothing of this " +
			"conversation: the task must say all that it needs, and what it is to return. Several calls at once run side by side. The agents:" + list.String(),
		Schema: []byte(`{
  "type": "object",
  "properties": {
    "agent": {"type": "string", "enum": ` + string(enum) + `, "description": "Who is to do it."},
    "task": {"type": "string", "description": "The task, whole."},
    "model": {"type": "string", "description": "The model to use, as PROVIDER/MODEL, by an agent that has none of its own. Default: the one that you are."}
  },
  "required": ["agent", "task"],
  "additionalProperties": false
}`),
		Kind:     core.KindThink,
		ReadOnly: true,
	}
}

func (s *toolset) prepareSpawn(a *args, agents []Subagent) (*step, error) {
	name, task, model := a.text("agent"), a.text("task"), a.optText("model", "")
	if strings.TrimSpace(task) == "" {
		a.fail("argument %q is empty", "task")
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(agents, func(a Subagent) bool { return a.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no agent %q to hand tasks to", name)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(task), "\n")
	short, left := display.Clip(visible(first), titleMax/2)
	if left > 0 {
		short += "…"
	}
	sp := &delegation{
		set:   s,
		agent: agents[i],
		model: model,
		task:  task,
		short: short,
		seen:  map[core.CallID]bool{},
	}
	return &step{
		bound: true, // the agents may differ after Preview
		Preview: core.Preview{
			Title:   sp.title(),
			Content: []core.Block{core.Text{Text: codeBlock(task, "")}},
		},
		run: sp.run,
	}, nil
}

// delegation is a delegated task. Its fields are used by one goroutine at a time.
type delegation struct {
	set   *toolset
	agent Subagent
	model string
	task  string
	short string

	steps int
	seen  map[core.CallID]bool
	spent core.Expense
}

func (sp *delegation) title() string {
	title := sp.agent.Name + ": " + sp.short
	switch {
	case sp.steps > 0 && sp.agent.MaxSteps >= sp.steps:
		title += fmt.Sprintf(" (step %d of %d)", sp.steps, sp.agent.MaxSteps)
	case sp.steps > 0:
		title += fmt.Sprintf(" (step %d)", sp.steps)
	}
	return title
}

func (sp *delegation) meta() json.RawMessage {
	raw, err := json.Marshal(progress{sp.agent.Name, sp.model, sp.steps, sp.agent.MaxSteps})
	if err != nil {
		return nil
	}
	return raw
}

func (sp *delegation) run(ctx context.Context, inv core.Invocation) (core.Result, error) {
	prof, err := sp.set.host.Profile(ctx)
	if err != nil {
		return core.Result{}, err
	}
	set := inference.ForTask(prof, sp.set.host.Settings(), sp.agent.Name, sp.model)
	sp.model = inference.Next(prof, set)
	d, err := sp.set.handOver(ctx, sp.set.host, delegate.Task{
		Agent: set.Agent, Model: set.Model, Title: sp.short,
		Prompt: []core.Block{core.Text{Text: sp.task}}, Origin: inv.Origin,
		Started: func(id core.SessionID) { inv.Show(core.Showing{Child: id, Meta: sp.meta()}) },
		Follow: func(r core.Record) {
			// Shown once for each call that begins there, not for every event.
			if c, ok := r.Event.(core.CallChanged); ok && !sp.seen[c.Call.ID] {
				sp.seen[c.Call.ID] = true
				sp.steps++
				inv.Show(core.Showing{Title: sp.title(), Meta: sp.meta()})
			}
			if u, ok := r.Event.(core.UsageChanged); ok {
				sp.spent = sp.spent.Plus(core.ExpenseOf(u.Last))
				inv.Show(core.Showing{Spent: sp.spent})
			}
		},
	})
	if err != nil {
		return core.Result{}, fmt.Errorf("hand the task to %s: %w", sp.agent.Name, err)
	}
	return sp.result(d), nil
}

// result describes the outcome of the task.
func (sp *delegation) result(d delegate.Result) core.Result {
	said, spill := sp.set.bounded(d.Text)
	if strings.TrimSpace(said) == "" {
		said = fmt.Sprintf("[%s said nothing]", sp.agent.Name)
	}
	var how string
	switch d.Stop {
	case core.StopEnd:
	case core.StopTokens:
		how = "its answer was cut: it became too long"
	case core.StopRequests:
		how = "it was stopped after as many steps as it may take"
	case core.StopLimit:
		how = "it was stopped: " + d.Err
	case core.StopRefusal:
		how = "its model refused to go on"
	case core.StopCanceled:
		how = "it was stopped"
	case core.StopError:
		how = "it failed: " + d.Err
	case core.StopInterrupted:
		how = "it was interrupted"
	}
	if how == "" {
		return core.Result{Blocks: text(said).Blocks, Spill: spill, Meta: sp.meta()}
	}
	return core.Result{Blocks: text(said, "["+how+"]").Blocks, Spill: spill, Failed: true, Meta: sp.meta()}
}
