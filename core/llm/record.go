package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"strings"
	"sync"

	"dragoman/core"
	"dragoman/core/datadir"
	"dragoman/core/inference"
)

// recorder is a model whose answers are written to a file, the option "record" of its
// provider, as turns for the kind replay. The key and the values of the headers are
// left out.
type recorder struct {
	inference.Model
	p *provider
}

// recording is locked while a file is written: models of one provider share it.
type recording struct{ mu sync.Mutex }

// Stream asks the model and records the complete answer, or the failure.
func (m *recorder) Stream(ctx context.Context, r *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		var f fixture
		var text, thought strings.Builder
		whole := false
		for d, err := range m.Model.Stream(ctx, r) {
			if e := (*inference.Error)(nil); errors.As(err, &e) &&
				text.Len()+thought.Len()+len(f.Response.ToolCalls) == 0 {
				f.Response.Error = &fixtureError{Message: e.Message, Type: string(e.Kind)}
				f.Response.Status, f.Response.RetryAfter, whole = e.Status, int(e.RetryAfter.Seconds()), true
			}
			switch d.Kind {
			case inference.DeltaText:
				text.WriteString(d.Text)
			case inference.DeltaThought:
				thought.WriteString(d.Text)
			case inference.DeltaToolEnd:
				f.Response.ToolCalls = append(
					f.Response.ToolCalls,
					fixtureCall{ID: string(d.ToolID), Name: d.ToolName, Arguments: wireArgs(d.Args)},
				)
			case inference.DeltaUsage:
				f.Response.Usage = &fixtureUsage{Prompt: d.Usage.In, Completion: d.Usage.Out}
			case inference.DeltaStop:
				whole = true
				f.Response.FinishReason = map[core.StopReason]string{core.StopTokens: "length", core.StopRefusal: "content_filter"}[d.Stop]
			case inference.DeltaSealed, inference.DeltaToolStart, inference.DeltaToolArgs, inference.DeltaRetry,
				inference.DeltaFellBack, inference.DeltaRefused:
			}
			if !yield(d, err) { // an error after a complete answer loses nothing
				break
			}
		}
		cred, err := m.p.credentials(ctx) // without credentials they cannot be removed
		if whole && err == nil {
			f.Response.Content, f.Response.Reasoning = text.String(), thought.String()
			f.Match = matchOf(m.Info().ID[len(m.p.Name)+1:], r)
			// An error is ignored: the answer matters more than its copy.
			_ = m.write(f, cred)
		}
	}
}

// matchOf returns the properties that distinguish a request from others of its
// conversation.
func matchOf(model string, r *inference.Request) fixtureMatch {
	user, answers, result := "", 0, false
	for i := range r.Messages {
		switch msg := &r.Messages[i]; msg.Role {
		case inference.RoleUser:
			user, result = spelled(msg.Blocks), false
		case inference.RoleAssistant:
			answers++
		case inference.RoleTool:
			result = true
		}
	}
	return fixtureMatch{Model: model, UserMessage: user, TurnIndex: &answers, HasToolResult: &result}
}

// write adds a turn to the file, which is complete at any time.
func (m *recorder) write(f fixture, cred credentials) error {
	name := m.p.Options["record"]
	m.p.recording.mu.Lock()
	defer m.p.recording.mu.Unlock()
	list, err := readFixtures(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b, err := json.MarshalIndent(struct {
		Fixtures []fixture `json:"fixtures"`
	}{append(list, f)}, "", "  ")
	if err != nil {
		return err
	}
	return datadir.Replace(name, []byte(cred.redact(string(b))+"\n"))
}
