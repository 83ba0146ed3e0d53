package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/inference"
)

// KindReplay plays turns from a file, the option "file" of its provider, which is
// written by hand or recorded. The format is that of the mock server aimock, so that
// both can use one file.
const KindReplay = "replay"

// replay is a model that answers from a file of recorded turns.
type replay struct {
	p     *provider
	model string
	info  inference.ModelInfo
	seen  *replaySeen
}

// replaySeen counts how often each match was found: answers can differ each time.
type replaySeen struct {
	mu sync.Mutex // guards the field below
	n  map[string]int
}

var _ inference.Model = (*replay)(nil)

func openReplay(_ *Registry, p *provider, model string) (inference.Model, error) {
	return &replay{p: p, model: model, info: p.info(model), seen: &p.played}, nil
}

// Info describes the model.
func (m *replay) Info() inference.ModelInfo { return m.info }

// Stream plays the first turn of the file that matches.
func (m *replay) Stream(ctx context.Context, r *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		a := &answer{model: m.info.ID, price: m.info.Price, request: r, yield: yield}
		if err := m.play(ctx, r, a); err != nil && !a.gone {
			yield(inference.Delta{}, err)
		}
	}
}

func (m *replay) play(ctx context.Context, r *inference.Request, a *answer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	list, err := readFixtures(m.p.Options["file"])
	if err != nil {
		return m.fails(inference.ErrBadRequest, err.Error())
	}
	f, ok := m.find(list, r)
	if !ok {
		return m.fails(
			inference.ErrBadRequest,
			fmt.Sprintf("%s has no turn that fits the request", m.p.Options["file"]),
		)
	}
	if f.Response.Error != nil {
		return m.refuse(f)
	}
	p := player{ctx: ctx, f: f, a: a}
	if err := p.say(); err != nil || a.gone {
		return err
	}
	a.stop = core.StopEnd
	switch f.Response.FinishReason {
	case "length", "max_tokens":
		a.stop = core.StopTokens
	case "content_filter", "refusal":
		a.stop = core.StopRefusal
	}
	if u := f.Response.Usage; u != nil {
		a.usage = &core.Usage{In: cmp.Or(u.Prompt, u.In), Out: cmp.Or(u.Completion, u.Out)}
	}
	return a.complete(ctx)
}

func (m *replay) fails(kind inference.ErrorKind, message string) error {
	return &inference.Error{
		Kind: kind, Model: m.info.ID,
		Message: message,
		Hint:    "Look at the option file of the provider " + m.p.Name,
	}
}

// refuse returns the failure of a turn, like a service's. It is never tried again,
// because it is a recording.
func (m *replay) refuse(f fixture) error {
	r := &remote{p: m.p, base: &url.URL{}, model: m.model, info: m.info}
	c := complaint{
		message: f.Response.Error.Message,
		kind:    f.Response.Error.Type,
		code:    f.Response.Error.Code,
	}
	e, _ := r.complained(c, cmp.Or(f.Response.Status, 500), credentials{})
	e.RetryAfter = time.Duration(f.Response.RetryAfter) * time.Second
	return e
}

// find returns the first turn that matches. A turn with a number in a sequence matches
// when its match was found that many times before.
func (m *replay) find(list []fixture, r *inference.Request) (fixture, bool) {
	m.seen.mu.Lock()
	defer m.seen.mu.Unlock()
	if m.seen.n == nil {
		m.seen.n = map[string]int{}
	}
	for _, f := range list {
		if !f.Match.fits(m.model, r) {
			continue
		}
		key := f.Match.key()
		if i := f.Match.SequenceIndex; i != nil && *i != m.seen.n[key] {
			continue
		}
		m.seen.n[key]++
		return f, true
	}
	return fixture{}, false
}

// player plays one turn.
type player struct {
	ctx  context.Context //nolint:containedctx // of one call of Stream, which it does not outlive
	f    fixture
	a    *answer
	sent int // pieces
}

func (p *player) say() error {
	resp := p.f.Response
	if err := p.pieces(resp.Reasoning, func(s string) error { p.a.thought("", s); return nil }); err != nil {
		return err
	}
	if err := p.pieces(resp.Content, func(s string) error { p.a.text(s); return nil }); err != nil {
		return err
	}
	for i, c := range resp.ToolCalls {
		p.a.openPart(partNone)
		call := &toolCall{index: i, wireID: c.ID, name: c.Name, block: p.a.newBlock()}
		p.a.calls = append(p.a.calls, call)
		p.a.start(call)
		if err := p.pieces(string(c.Arguments), func(s string) error { return p.a.more(call, s) }); err != nil {
			return err
		}
	}
	return nil
}

// pieces plays a text like a stream: in pieces, with pauses, and perhaps not to its
// end.
func (p *player) pieces(text string, say func(string) error) error {
	size := p.f.ChunkSize
	if size <= 0 {
		size = 20
	}
	for text != "" && !p.a.gone {
		if err := p.pause(); err != nil {
			return err
		}
		if n := p.f.TruncateAfterChunks; n > 0 && p.sent >= n {
			return &inference.Error{
				Kind:    inference.ErrTruncated,
				Model:   p.a.model,
				Message: errNoEnd.Error(),
			}
		}
		n := 0
		for i := 0; i < size && n < len(text); i++ {
			_, width := utf8.DecodeRuneInString(text[n:])
			n += width
		}
		if err := say(text[:n]); err != nil {
			return err
		}
		text = text[n:]
		p.sent++
	}
	return nil
}

func (p *player) pause() error {
	wait := time.Duration(p.f.Latency) * time.Millisecond
	if s := p.f.StreamingProfile; s != nil {
		if wait = time.Duration(s.TTFT) * time.Millisecond; p.sent > 0 && s.TPS > 0 {
			wait = time.Duration(float64(time.Second) / s.TPS)
		}
	}
	if wait <= 0 {
		return p.ctx.Err()
	}
	return sleep(p.ctx, wait)
}

// fixture is one turn of a file: the match, the answer, and its timing.
type fixture struct {
	Match    fixtureMatch    `json:"match"`
	Response fixtureResponse `json:"response"`

	ChunkSize           int `json:"chunkSize,omitempty"` // characters
	Latency             int `json:"latency,omitempty"`   // milliseconds before each piece
	TruncateAfterChunks int `json:"truncateAfterChunks,omitempty"`
	StreamingProfile    *struct {
		TTFT int     `json:"ttft"` // milliseconds
		TPS  float64 `json:"tps"`  // pieces a second
	} `json:"streamingProfile,omitempty"`
}

type fixtureMatch struct {
	Model              string `json:"model,omitempty"`
	UserMessage        string `json:"userMessage,omitempty"`
	SystemMessage      string `json:"systemMessage,omitempty"`
	ToolName           string `json:"toolName,omitempty"`
	ToolCallID         string `json:"toolCallId,omitempty"`
	ToolResultContains string `json:"toolResultContains,omitempty"`
	HasToolResult      *bool  `json:"hasToolResult,omitempty"`
	TurnIndex          *int   `json:"turnIndex,omitempty"`
	SequenceIndex      *int   `json:"sequenceIndex,omitempty"`
}

type fixtureResponse struct {
	Content      string        `json:"content,omitempty"`
	Reasoning    string        `json:"reasoning,omitempty"`
	ToolCalls    []fixtureCall `json:"toolCalls,omitempty"`
	FinishReason string        `json:"finishReason,omitempty"`
	Usage        *fixtureUsage `json:"usage,omitempty"`
	Error        *fixtureError `json:"error,omitempty"`
	Status       int           `json:"status,omitempty"`
	RetryAfter   int           `json:"retryAfter,omitempty"` // seconds
}

type fixtureCall struct {
	ID        string   `json:"id,omitempty"`
	Name      string   `json:"name"`
	Arguments wireArgs `json:"arguments"`
}

type fixtureUsage struct {
	Prompt     int `json:"prompt_tokens,omitempty"`
	Completion int `json:"completion_tokens,omitempty"`
	In         int `json:"input_tokens,omitempty"`
	Out        int `json:"output_tokens,omitempty"`
}

type fixtureError struct {
	Message string `json:"message"`
	Type    string `json:"type,omitempty"`
	Code    string `json:"code,omitempty"`
}

// key identifies a match, without its place in a sequence.
func (m fixtureMatch) key() string {
	m.SequenceIndex = nil
	b, err := json.Marshal(m)
	if err != nil {
		return "" // impossible: strings, numbers, booleans
	}
	return string(b)
}

// fits reports whether a request has all properties of the match.
func (m fixtureMatch) fits(model string, r *inference.Request) bool {
	user, answers := "", 0
	var results []*inference.ToolReturn // of this turn
	for i := range r.Messages {
		msg := &r.Messages[i]
		switch msg.Role {
		case inference.RoleUser:
			user, results = spelled(msg.Blocks), nil
		case inference.RoleAssistant:
			answers++
		case inference.RoleTool:
			results = append(results, &msg.Result)
		}
	}
	switch {
	case m.Model != "" && m.Model != model,
		!strings.Contains(user, m.UserMessage),
		!strings.Contains(r.System, m.SystemMessage):
		return false
	case m.HasToolResult != nil && *m.HasToolResult != (len(results) > 0),
		m.TurnIndex != nil && *m.TurnIndex != answers:
		return false
	case m.ToolName == "" && m.ToolCallID == "" && m.ToolResultContains == "":
		return true
	}
	for _, res := range results {
		if (m.ToolName == "" || res.Name == m.ToolName) && (m.ToolCallID == "" || string(res.ID) == m.ToolCallID) &&
			strings.Contains(spelled(res.Blocks), m.ToolResultContains) {
			return true
		}
	}
	return false
}

// maxFixtures limits a file, in bytes.
const maxFixtures = 64 << 20

// readFixtures reads a file: {"fixtures":[…]}, or only the list.
func readFixtures(name string) ([]fixture, error) {
	if name == "" {
		return nil, errors.New("no file is named that could be played")
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFixtures {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFixtures>>20)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var file struct {
		Fixtures []fixture `json:"fixtures"`
	}
	if json.Unmarshal(b, &file.Fixtures) == nil {
		return file.Fixtures, nil
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return file.Fixtures, nil
}
