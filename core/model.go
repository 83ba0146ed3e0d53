package core

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"
)

// Usage counts tokens. Cost is in US dollars; nil means unknown, never free.
type Usage struct {
	In         int      `json:"in"`
	Out        int      `json:"out"`
	CacheRead  int      `json:"cache_read,omitempty"`
	CacheWrite int      `json:"cache_write,omitempty"`
	Reasoning  int      `json:"reasoning,omitempty"`
	Cost       *float64 `json:"cost,omitempty"`
	Estimated  bool     `json:"estimated,omitempty"` // counted from characters, not by the provider
}

// EstimateTokens returns about how many tokens a model makes of a text of so many characters.
func EstimateTokens(chars int) int { return (chars + 3) / 4 }

// Add returns the sum. The cost of a sum is known only where both are.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{
		In: u.In + v.In, Out: u.Out + v.Out, CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning: u.Reasoning + v.Reasoning, Estimated: u.Estimated || v.Estimated,
	}
	switch {
	case u == (Usage{}):
		sum.Cost = v.Cost
	case u.Cost != nil && v.Cost != nil:
		c := *u.Cost + *v.Cost
		sum.Cost = &c
	}
	return sum
}

// ModelInfo describes a model.
type ModelInfo struct {
	ID       string // PROVIDER/MODEL
	Name     string // for people
	Provider string
	Window   int // tokens; 0: unknown
	MaxOut   int // tokens; 0: unknown
	Tools    bool
	Images   bool
	Thinks   bool
	Offline  bool     // needs no network and is not a language model
	Efforts  []string // names of the reasoning efforts it knows
	Price    *Price   // nil: unknown
}

// Price is what a million tokens cost, in US dollars.
type Price struct {
	In, Out               float64
	CacheRead, CacheWrite float64 // of the tokens in
}

// Cost is what an answer cost. Usage.In counts what a cache had and what it took.
func (p Price) Cost(u Usage) float64 {
	plain := max(u.In-u.CacheRead-u.CacheWrite, 0)
	return (float64(plain)*p.In + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite + float64(u.Out)*p.Out) / 1e6
}

// Model streams answers.
type Model interface {
	Info() ModelInfo
	// Stream asks the model. It yields deltas and ends after exactly one
	// terminal: a DeltaStop, or an error, mostly a *ModelError. It blocks in
	// between and ends at once when ctx does, then always with its error.
	Stream(context.Context, *Request) iter.Seq2[Delta, error]
}

// Request is one request to a model.
type Request struct {
	Session  SessionID
	System   string
	Messages []Message
	Tools    []ToolSpec
	Effort   string
	MaxOut   int // 0: the provider's default
}

// ToolSpec is a tool as the model sees it. Name is unique within the request and
// legal for every provider: at most 64 of [A-Za-z0-9_-].
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// MessageRole says who speaks.
type MessageRole string

const (
	RoleUser      MessageRole = "user"
	RoleAssistant MessageRole = "assistant"
	RoleTool      MessageRole = "tool"
)

// Message is one entry of the history. Blocks is what a user says; an assistant
// says Text, thinks, and calls; a tool answers one call.
type Message struct {
	Role     MessageRole
	Blocks   []Block
	Text     string
	Thoughts []Thought
	Calls    []ToolUse
	Result   ToolReturn
}

// Thought is reasoning that a provider may want back.
type Thought struct {
	Text   string
	Sealed json.RawMessage
}

// ToolUse is a call that the model made.
type ToolUse struct {
	ID   CallID
	Name string // as in ToolSpec
	Args json.RawMessage
}

// ToolReturn answers a ToolUse.
type ToolReturn struct {
	ID     CallID
	Name   string
	Blocks []Block
	Failed bool
}

// DeltaKind tells what a Delta holds.
type DeltaKind string

const (
	DeltaText      DeltaKind = "text"       // Text
	DeltaThought   DeltaKind = "thought"    // Text
	DeltaSealed    DeltaKind = "sealed"     // Sealed: ends the thought of this Block
	DeltaToolStart DeltaKind = "tool_start" // ToolID, ToolName
	DeltaToolArgs  DeltaKind = "tool_args"  // Text: a fragment of the arguments' JSON
	DeltaToolEnd   DeltaKind = "tool_end"   // Args: whole; Bad says what is wrong with them
	DeltaUsage     DeltaKind = "usage"      // Usage: of this answer so far, replacing what came before
	DeltaRetry     DeltaKind = "retry"      // After, Attempt: waiting; nothing was lost
	DeltaFellBack  DeltaKind = "fell_back"  // Instead answers from here on, because of Bad; nothing was said before it
	DeltaStop      DeltaKind = "stop"       // Stop: the terminal
)

// Delta is one step of a model's answer. Block numbers the answer's parts: text,
// thoughts and calls that interleave are told apart by it.
type Delta struct {
	Kind     DeltaKind
	Block    int
	Text     string
	ToolID   CallID
	ToolName string
	Args     json.RawMessage
	Bad      error
	Sealed   json.RawMessage
	Usage    Usage
	After    time.Duration
	Attempt  int
	Instead  *ModelInfo
	Stop     StopReason
}

// ModelErrorKind sorts what can go wrong with a model.
type ModelErrorKind string

const (
	ErrAuth          ModelErrorKind = "auth"
	ErrRateLimit     ModelErrorKind = "rate limit"
	ErrOverloaded    ModelErrorKind = "overloaded"
	ErrContextLength ModelErrorKind = "context length"
	ErrBadRequest    ModelErrorKind = "bad request"
	ErrSafety        ModelErrorKind = "safety"
	ErrServer        ModelErrorKind = "server"
	ErrNetwork       ModelErrorKind = "network"
	ErrTruncated     ModelErrorKind = "truncated" // the stream ended without its end
)

// ModelError is how a Model fails. Its text is for people: the model, what the
// service said, and what to do.
type ModelError struct {
	Kind       ModelErrorKind
	Model      string
	Status     int           // of HTTP; 0: none came
	RetryAfter time.Duration // 0: the service said nothing
	RequestID  string
	Message    string // what the service said, shortened, without secrets
	Hint       string // what the user can do
	Err        error
}

// Retryable reports whether the same request may succeed later.
func (e *ModelError) Retryable() bool {
	switch e.Kind {
	case ErrRateLimit, ErrOverloaded, ErrServer, ErrNetwork:
		return true
	case ErrAuth, ErrContextLength, ErrBadRequest, ErrSafety, ErrTruncated:
		return false
	}
	return false
}

func (e *ModelError) Error() string {
	s := fmt.Sprintf("model %s: %s", e.Model, e.Kind)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	} else if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		s += ". " + e.Hint
	}
	return s
}

func (e *ModelError) Unwrap() error { return e.Err }
