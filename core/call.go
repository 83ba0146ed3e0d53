package core

import (
	"encoding/json"
	"time"

	"dragoman/core/internal/callstate"
)

// CallID names a tool call within its session.
type CallID string

// CallKind classifies a call, for icons and for policy.
type CallKind string

const (
	KindRead    CallKind = "read"
	KindEdit    CallKind = "edit"
	KindDelete  CallKind = "delete"
	KindMove    CallKind = "move"
	KindSearch  CallKind = "search"
	KindExecute CallKind = "execute"
	KindThink   CallKind = "think"
	KindFetch   CallKind = "fetch"
	KindOther   CallKind = "other"
)

// acts reports whether a call of that kind may change files.
func (k CallKind) acts() bool {
	switch k {
	case KindRead, KindSearch, KindThink, KindFetch:
		return false
	case KindEdit, KindDelete, KindMove, KindExecute, KindOther:
	}
	return true
}

// CallState is the state of a call. To and Ended have the rules of its life.
type CallState = callstate.State

const (
	Proposed  = callstate.Proposed
	Awaiting  = callstate.Awaiting
	Running   = callstate.Running
	Succeeded = callstate.Succeeded
	Errored   = callstate.Errored
	Rejected  = callstate.Rejected
	Canceled  = callstate.Canceled
)

// Location is a place in a file that a call works on.
type Location struct {
	Path string `json:"path"`           // absolute
	Line int    `json:"line,omitempty"` // 1-based; 0: the whole file
}

// Call is the complete state of a tool call after a change.
type Call struct {
	ID        CallID          `json:"id"`
	Turn      TurnID          `json:"turn"`
	Server    string          `json:"server"` // who offers the tool; "native" for our own
	Tool      string          `json:"tool"`   // its name there, without prefix
	Title     string          `json:"title,omitempty"`
	Kind      CallKind        `json:"kind"`
	Args      json.RawMessage `json:"args,omitempty"` // a JSON object; nil while it still arrives
	State     CallState       `json:"state"`
	Why       string          `json:"why,omitempty"`   // who or which rule decided, or what went wrong
	Content   []Block         `json:"-"`               // a preview (a diff), then the result
	Spill     string          `json:"spill,omitempty"` // of a result that its tool has cut: the file with the whole of it
	Locations []Location      `json:"locations,omitempty"`
	Child     SessionID       `json:"child,omitempty"`
	Spent     Expense         `json:"spent,omitzero"` // by Child so far
	Start     time.Time       `json:"start,omitzero"` // of Running
	End       time.Time       `json:"end,omitzero"`
	Output    json.RawMessage `json:"output,omitempty"` // the structured result, where the tool gave one
	Meta      json.RawMessage `json:"meta,omitempty"`
}

// Native is the Server of the tools that the gateway brings itself.
const Native = "native"

// stopped returns the state of a call that ends before it has a result. A call that ran keeps
// its changes, the terminals that showed it, and its output.
func (s *State) stopped(c Call) Call {
	if c.State != Running {
		return c
	}
	var kept []Block
	for _, b := range c.Content {
		switch b.(type) {
		case Diff, Terminal:
			kept = append(kept, b)
		case Text, Image, Audio, Link, Resource: // shown before the call ran, or while it did
		}
	}
	if p := s.printed[c.ID]; p != nil {
		kept = append(kept, Text{p.Text()})
	}
	c.Content = kept
	return c
}
