package eca_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
	"dragoman/core/delegate"
	"dragoman/core/ide"
	"dragoman/core/inference"
	"dragoman/core/workspace"
)

// files is a workspace in memory: paths and contents.
type files map[string]string

var inMemory = files{
	"/w/a.txt":        "one\ntwo\nthree\nfour\n",
	"/w/src/main.go":  "package main\n",
	"/w/src/main.txt": "notes\n",
	"/w/secret.env":   "KEY=1\n",
	"/home/b.txt":     "outside\n",
}

var _ workspace.Files = files{}

// Find implements workspace.Files.
func (f files) Find(_ context.Context, roots []string, query string, most int) []workspace.FileName {
	var list []workspace.FileName
	add := func(n workspace.FileName) {
		if !slices.Contains(list, n) && len(list) < most {
			list = append(list, n)
		}
	}
	folder := ""
	switch {
	case strings.HasPrefix(query, "./"), strings.HasPrefix(query, "../"):
		folder = path.Clean(path.Join(roots[0], query))
	case strings.HasPrefix(query, "~"):
		folder = path.Join("/home", strings.TrimPrefix(query, "~"))
	case strings.HasPrefix(query, "/"):
		folder = path.Clean(query)
	}
	paths := make([]string, 0, len(f))
	for p := range f {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		if folder != "" {
			if rest, in := strings.CutPrefix(p, strings.TrimSuffix(folder, "/")+"/"); in {
				name, _, deeper := strings.Cut(rest, "/")
				add(workspace.FileName{Path: path.Join(folder, name), Folder: deeper})
			}
			continue
		}
		if !strings.HasPrefix(p, roots[0]+"/") {
			continue
		}
		if dir := path.Dir(p); dir != roots[0] && strings.Contains(dir[len(roots[0]):], query) {
			add(workspace.FileName{Path: dir, Folder: true})
		}
		if strings.Contains(p[len(roots[0]):], query) {
			add(workspace.FileName{Path: p})
		}
	}
	return list
}

// Keep implements workspace.Files.
func (f files) Keep(roots []string) workspace.Finder { return keptFiles{f, roots} }

type keptFiles struct {
	files files
	roots []string
}

// Find implements workspace.Finder.
func (k keptFiles) Find(ctx context.Context, query string, most int) []workspace.FileName {
	return k.files.Find(ctx, k.roots, query, most)
}

// List implements workspace.Files. No test of this dialect uses it.
func (f files) List(context.Context, []string, string, string, int) []workspace.FileName { return nil }

// Read implements workspace.Files.
func (f files) Read(ctx context.Context, _ []string, r workspace.Reference) core.Block {
	switch {
	case strings.Contains(r.URL, "slow"):
		<-ctx.Done()
		return core.Resource{URI: r.URL, Text: "(The page could not be read: " + context.Cause(ctx).Error() + ")"}
	case r.URL != "":
		return core.Resource{URI: r.URL, MIME: "text/plain", Text: "the page"}
	}
	text, there := f[r.Path]
	if !there {
		var all strings.Builder
		for _, n := range f.Find(ctx, []string{r.Path}, "", 10) {
			if !n.Folder {
				all.WriteString(n.Path + ": " + f[n.Path])
			}
		}
		if all.Len() == 0 {
			return core.Resource{URI: "file://" + r.Path, Text: "(The file could not be read: it does not exist)"}
		}
		return core.Resource{URI: "file://" + r.Path, Text: all.String()}
	}
	if r.Lines[0] > 0 {
		lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
		from, to := min(r.Lines[0], len(lines)), min(r.Lines[1], len(lines))
		return core.Resource{URI: fmt.Sprintf("file://%s#L%d-L%d", r.Path, from, to), Text: strings.Join(lines[from-1:to], ""), Lines: [2]int{from, to}}
	}
	return core.Resource{URI: "file://" + r.Path, Text: text}
}

// Undo implements workspace.Files. It takes a while.
func (f files) Undo(_ context.Context, _ core.Meta, _ core.Editor, changes []core.Diff) []core.RevertedFile {
	<-time.After(time.Second)
	var list []core.RevertedFile
	for _, d := range slices.Backward(changes) {
		n := core.RevertedFile{Path: d.Path}
		if len(list) > 0 {
			n.Why = "it was changed since"
		}
		list = append(list, n)
	}
	return list
}

// offers provides the profile, which changes after a login.
type offers struct {
	keys  keys
	fleet *fleet
	bench *editorTools

	mu   sync.Mutex // guards the field below
	prof *core.Profile
}

func newOffers() *offers {
	o := &offers{fleet: newFleet(), bench: &editorTools{}}
	o.prof = equip(profile(), o.bench)
	o.keys.have = map[string]bool{}
	o.keys.changed = func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		next := *o.prof
		models := inference.ModelsOf(&next)
		models.List = slices.DeleteFunc(slices.Clone(models.List), func(m inference.ModelInfo) bool { return m.Provider == "globex" })
		next.Models = models
		next.Agents = profile().Agents
		if o.keys.of("globex").Configured {
			next.Agents = next.Agents[:1] // and no reviewer
			addModel(&next, inference.ModelInfo{ID: "globex/small", Provider: "globex", Tools: true})
		}
		if next.Fault = ""; o.keys.of("acme").Configured {
			next.Fault = "config.yaml:9:1: nothing like it is known"
		}
		o.prof = &next
	}
	models := inference.ModelsOf(o.prof)
	models.Find = pen
	o.prof.Accounts, o.prof.Models, o.prof.Servers = &o.keys, models, o.fleet
	return o
}

// everything returns a profile with every kind of offer.
func everything() *core.Profile {
	p := equip(profile(), &editorTools{board: board.New()})
	p.Accounts = &keys{board: board.New(), have: map[string]bool{}, changed: func() {}}
	models := inference.ModelsOf(p)
	models.Find = pen
	p.Models = models
	return p
}

// addModel adds a model to those of a profile.
func addModel(p *core.Profile, m inference.ModelInfo) {
	models := inference.ModelsOf(p)
	models.List = append(slices.Clone(models.List), m)
	p.Models = models
}

// pen is a model whose answer depends on the request.
func pen(_ context.Context, id string) (inference.Model, error) {
	switch id {
	case "offline/demo":
		return &coretest.Script{Is: inference.ModelInfo{ID: "offline/demo", Offline: true}}, nil
	case "acme/large":
		return &coretest.Script{Is: inference.ModelInfo{ID: id, MaxOut: 1000, Efforts: []string{"low", "high"}}, Reply: func(_ int, r *inference.Request) coretest.Answer {
			said := r.Messages[0].Blocks[0].(core.Text).Text
			has := func(word string) bool { return strings.Contains(said, word) }
			switch {
			case has("hang"):
				return coretest.Answer{Hang: true}
			case has("refuse"):
				return coretest.Answer{Stop: core.StopRefusal}
			case has("fail"):
				return coretest.Answer{Err: errModel}.Say("half")
			case has("nothing"):
				return coretest.Answer{}.Say(" \n")
			case has("fence"):
				return coretest.Answer{}.Think("Hm", "Hm").Say("```go\n", "func b() {}\n```")
			case has("show"):
				return coretest.Answer{}.Say(fmt.Sprintf("%q effort=%s out=%d", said, r.Effort, r.MaxOut))
			}
			return coretest.Answer{}.Say("retu", "rn a + b\n")
		}}, nil
	}
	return nil, errors.New("there is no model " + id)
}

func (o *offers) profile() *core.Profile {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.prof
}

// tables are the resources of an MCP server.
type tables struct{}

func (tables) List(_ context.Context, _ []string, query string, _ int) []core.Link {
	if !strings.Contains("users", query) {
		return nil
	}
	return []core.Link{{URI: "db://users", Name: "users", Title: "db", Description: "a table", MIME: "text/csv"}}
}

func (tables) Read(_ context.Context, _ []string, uri string) core.Block {
	return core.Resource{URI: uri, MIME: "text/csv", Text: "ada,1815"}
}

// equip adds the workspace and its tools to a profile.
func equip(prof *core.Profile, bench *editorTools) *core.Profile {
	prof.Workspace = workspace.Contents{Files: inMemory, Resources: tables{}}
	prof.Subagents = []core.Agent{{Name: "explorer", Backend: &coretest.Backend{Run: act}}}
	prof.Toolboxes = append(prof.Toolboxes, bench)
	return prof
}

// editorTools offers tools that ask the editor, and the user.
type editorTools struct{ board *board.Board }

func (e *editorTools) Open(_ context.Context, host core.ToolHost) (core.Toolset, error) {
	tool := func(name string, run func(context.Context, core.Invocation, string) (core.Result, error)) core.Tool {
		return coretest.Tool{
			Is: core.Spec{Server: core.Native, Name: name, Kind: core.KindRead, ReadOnly: true},
			Runs: func(ctx context.Context, inv core.Invocation) (core.Result, error) {
				var args map[string]string
				if err := json.Unmarshal(inv.Args, &args); err != nil {
					return core.Result{}, err
				}
				return run(ctx, inv, args["path"]+args["question"])
			},
		}
	}
	asks := func(call func(string) ide.Call) func(context.Context, core.Invocation, string) (core.Result, error) {
		return func(ctx context.Context, _ core.Invocation, path string) (core.Result, error) {
			editor := ide.Of(host.Editor(""))
			if editor == nil {
				return text("there is no editor"), nil
			}
			<-time.After(time.Millisecond) // the call is shown first
			reply, err := editor.Do(ctx, call(path))
			if err != nil {
				return core.Result{}, err
			}
			return text(fmt.Sprintf("%+v", reply)), nil
		}
	}
	return coretest.Tools{
		tool("start", func(_ context.Context, _ core.Invocation, command string) (core.Result, error) {
			id, summary, _ := strings.Cut(command, " for ")
			j := &job{board: e.board, info: board.JobInfo{ID: "job-" + id, Session: host.Meta().ID, Summary: summary, Command: id, Status: board.JobRunning, Started: time.Now()}}
			if id == "true" {
				zero := 0
				j.info.Status, j.info.Exit, j.info.Ended = board.JobDone, &zero, time.Now()
			}
			<-time.After(time.Millisecond) // the call is shown first
			j.post()
			<-time.After(time.Millisecond) // and then the job
			return text("started"), nil
		}),
		tool("look", asks(func(path string) ide.Call { return ide.Diagnose{Path: path} })),
		tool("find", asks(func(path string) ide.Call { return ide.Locate{Path: path, Line: 3, Column: 7} })),
		tool("uses", asks(func(path string) ide.Call {
			return ide.Locate{Path: path, Line: 3, Column: 7, References: true}
		})),
		coretest.Tool{
			Is: core.Spec{Server: core.Native, Name: "spawn_agent", Kind: core.KindOther, ReadOnly: true},
			Runs: func(ctx context.Context, inv core.Invocation) (core.Result, error) {
				var args struct{ Agent, Task string }
				if err := json.Unmarshal(inv.Args, &args); err != nil {
					return core.Result{}, err
				}
				step := 0
				done, err := delegate.Run(ctx, host, delegate.Task{
					Agent: args.Agent, Title: "A task", Prompt: []core.Block{core.Text{Text: args.Task}}, Origin: inv.Origin,
					Started: func(id core.SessionID) {
						inv.Show(core.Showing{Child: id, Meta: coretest.Args(map[string]int{"step": 0, "max_steps": 9})})
					},
					Follow: func(r core.Record) {
						if c, ok := r.Event.(core.CallChanged); ok && c.Call.State == core.Proposed {
							step++
							<-time.After(time.Millisecond) // the child's work is shown first
							inv.Show(core.Showing{Meta: coretest.Args(map[string]int{"step": step, "max_steps": 9})})
						}
					},
				})
				if err != nil {
					return core.Result{}, err
				}
				return text(string(done.Stop) + ": " + done.Text), nil
			},
		},
		tool("choose", func(ctx context.Context, inv core.Invocation, question string) (core.Result, error) {
			r, err := host.Ask(ctx, core.Ask{Text: question, Turn: inv.Turn, Call: inv.Call, Freeform: true, Options: []core.Option{{ID: "o1", Label: "Yes", Description: "do it"}}})
			if err != nil {
				return core.Result{}, err
			}
			return text(string(r.Outcome) + " " + r.Option), nil
		}),
	}, nil
}

func text(s string) core.Result { return core.Result{Blocks: []core.Block{core.Text{Text: s}}} }

// doMore carries out the other verbs of an agent's prompts.
func doMore(ctx context.Context, t *core.Turn, verb, rest string) (core.StopReason, error) {
	switch verb {
	case "roots":
		return "", t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: strings.Join(t.Meta().Roots, " ")})
	case "compact":
		return "", t.Emit(ctx, core.Compacted{Turn: t.ID(), Summary: rest, Before: 900, After: 20})
	case "ask": // a question, then its options, divided by bars
		parts := strings.Split(rest, "|")
		a := core.Ask{Text: parts[0], Freeform: len(parts)%2 == 1, Secret: strings.HasPrefix(parts[0], "key")}
		if strings.HasPrefix(parts[0], "open") {
			a.URL = "https://acme.example/consent"
		}
		for i, label := range parts[1:] {
			a.Options = append(a.Options, core.Option{ID: fmt.Sprintf("o%d", i+1), Label: label})
		}
		r, err := t.Ask(ctx, a)
		if err != nil {
			return "", err
		}
		return "", t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: fmt.Sprintf("%s option=%s text=%s", r.Outcome, r.Option, r.Text)})
	case "choose": // the same, by a call
		return call(ctx, t, "choose", coretest.Args(map[string]string{"question": rest}))
	case "spawn": // the task has semicolons in place of "then"
		return call(ctx, t, "spawn_agent", coretest.Args(map[string]string{"agent": "explorer", "task": strings.ReplaceAll(rest, "; ", " then ")}))
	case "start": // a command that keeps running
		return call(ctx, t, "start", coretest.Args(map[string]string{"path": rest}))
	case "look", "find", "uses":
		return call(ctx, t, verb, coretest.Args(map[string]string{"path": rest}))
	case "move":
		return "", t.Emit(ctx, core.Moved{To: core.SessionID(rest), Title: "Elsewhere"})
	}
	return "", errModel
}
