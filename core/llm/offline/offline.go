// Package offline implements the demo model, which needs neither a network nor a key.
// It is not a language model, and its texts say so.
//
// It follows plain instructions (steps.go) with the tools that a request offers
// (tools.go), and answers in words (words.go, speak.go). Everything else it answers with
// an introduction that explains how to get a real model.
package offline

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/inference"
)

// The name of the offline demo, and of its provider.
const (
	Provider = "offline"
	ID       = Provider + "/demo"
)

// Config has the facts about the environment that the demo mentions.
type Config struct {
	// Wanted are the providers without a key, in the order of the introduction.
	Wanted []Wanted
	// KeyFile is the file for keys, in the form in which the user would open it.
	KeyFile string
}

// Wanted is a provider and the environment variables for its key; none: it needs no
// key.
type Wanted struct {
	Provider  string
	Variables []string
}

// Model is an inference.Model that is not a language model. It follows plain
// instructions with the tools that the request offers, so that every feature of a turn
// can be shown without a key. It keeps no state: the request's history shows which
// steps are done. Equal requests get equal answers. It is safe for concurrent use.
type Model struct{ config Config }

var _ inference.Model = (*Model)(nil)

// New makes the offline demo.
func New(c Config) *Model { return &Model{c} }

// Info describes the demo model.
func (d *Model) Info() inference.ModelInfo {
	return inference.ModelInfo{
		ID: ID, Name: "Offline demo (not a language model)", Provider: Provider,
		Tools: true, Thinks: true, Offline: true,
	}
}

// Stream answers the last message of the user. The only error is ctx's.
func (d *Model) Stream(ctx context.Context, r *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		s := &speaker{yield: yield, block: -1}
		if err := d.answer(ctx, r, s); err != nil && !s.gone {
			yield(inference.Delta{}, err)
		}
	}
}

func (d *Model) answer(ctx context.Context, r *inference.Request, s *speaker) error {
	p := lastPrompt(r.Messages)
	steps, err := p.steps()
	if err != nil {
		err = s.say(ctx, d.introduction(err))
	} else {
		err = perform(ctx, s, steps, p, r.Tools)
	}
	if err != nil {
		return err
	}
	free := 0.0
	usage := core.Usage{
		In:        inference.EstimateTokens(requestChars(r)),
		Out:       inference.EstimateTokens(s.chars),
		Cost:      &free,
		Estimated: true,
	}
	if err := s.emit(ctx, inference.Delta{Kind: inference.DeltaUsage, Usage: usage}); err != nil {
		return err
	}
	return s.emit(ctx, inference.Delta{Kind: inference.DeltaStop, Stop: core.StopEnd})
}

// perform performs the steps after the last answered call, up to and including the next
// call.
func perform(ctx context.Context, s *speaker, steps []step, p prompt, tools []inference.ToolSpec) error {
	calls, spoke := 0, false
	var outcomes []outcome
	for _, st := range steps {
		due := calls == len(p.results)
		switch st.verb {
		case verbThink:
			if due {
				if err := s.think(ctx, st.args[0]); err != nil {
					return err
				}
			}
		case verbStream:
			spoke = true
			if due {
				if err := s.stream(ctx, st.count, st.size); err != nil {
					return err
				}
			}
		case verbRead, verbList, verbSearch, verbWrite, verbReplace, verbRun, verbPlan, verbAsk:
			tool, ok := findTool(tools, st.tool())
			if !ok {
				outcomes = append(outcomes, outcome{step: st})
				continue
			}
			if !due {
				outcomes = append(outcomes, outcome{step: st, result: p.results[calls]})
				calls++
				continue
			}
			id := core.CallID(fmt.Sprintf("demo_%d_%d", p.number, calls+1))
			return s.call(ctx, id, tool.Name, toolArgs(st, tool.Schema))
		}
	}
	switch {
	case len(outcomes) > 0 && s.texts > 0:
		return s.say(ctx, "\n\n"+report(outcomes))
	case len(outcomes) > 0:
		return s.say(ctx, report(outcomes))
	case !spoke:
		return s.say(ctx, "I thought that, as you asked. There was nothing else to do.\n")
	}
	return nil
}

// prompt is the last message of the user and the calls that were made for it.
type prompt struct {
	texts   []string
	files   []string // attached or linked
	number  int      // of the user's messages
	results []*inference.ToolReturn
}

func lastPrompt(messages []inference.Message) prompt {
	var p prompt
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case inference.RoleUser:
			if said := withoutInstructions(m.Blocks); len(said) > 0 {
				p = prompt{number: p.number + 1}
				p.read(said)
			}
		case inference.RoleTool:
			p.results = append(p.results, &m.Result)
		case inference.RoleAssistant:
		}
	}
	return p
}

// withoutInstructions returns only the blocks that the user has written.
func withoutInstructions(blocks []core.Block) []core.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b core.Block) bool {
		text, ok := b.(core.Text)
		return ok && strings.HasPrefix(text.Text, inference.FolderInstructions)
	})
}

func (p *prompt) read(blocks []core.Block) {
	for _, b := range blocks {
		switch b := b.(type) {
		case core.Text:
			p.texts = append(p.texts, b.Text)
		case core.Link:
			p.files = append(p.files, filePath(b.URI))
		case core.Resource:
			p.files = append(p.files, filePath(b.URI))
		case core.Image, core.Audio, core.Diff, core.Terminal:
		}
	}
}

// steps parses the user's whole text, or its last part: two messages in a row may have
// been merged into one.
func (p *prompt) steps() ([]step, error) {
	steps, err := parseSteps(strings.Join(p.texts, "\n"), p.files)
	if n := len(p.texts); err != nil && n > 1 {
		if last, lastErr := parseSteps(p.texts[n-1], p.files); lastErr == nil {
			return last, nil
		}
	}
	return steps, err
}

// requestChars counts the characters that a model would have to read.
func requestChars(r *inference.Request) int {
	n := utf8.RuneCountInString(r.System)
	for _, t := range r.Tools {
		n += utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(t.Schema)
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		n += utf8.RuneCountInString(m.Text) + blockChars(m.Blocks) + blockChars(m.Result.Blocks)
		for _, c := range m.Calls {
			n += utf8.RuneCountInString(c.Name) + utf8.RuneCount(c.Args)
		}
	}
	return n
}

func blockChars(blocks []core.Block) int {
	n := 0
	for _, b := range blocks {
		n += utf8.RuneCountInString(blockText(b))
	}
	return n
}
