package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// InputRequest is something that a server wants to know of the client: a request in a result.
type InputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// InputRequired is a result that asks the client something first (2026-07-28, Multi Round-Trip
// Requests): the client makes the same call again, with the answers and the state.
type InputRequired struct {
	Type     string                  `json:"resultType"` // ResultInputRequired
	Requests map[string]InputRequest `json:"inputRequests,omitempty"`
	State    json.RawMessage         `json:"requestState,omitempty"` // a string
}

// ReadInputRequired reads a result that asks the client something first; ok is false for
// any other.
func ReadInputRequired(result json.RawMessage) (r InputRequired, ok bool) {
	return r, json.Unmarshal(result, &r) == nil && r.Type == ResultInputRequired
}

// MaxRounds limits how often Rounds makes a call.
const MaxRounds = 10

// RoundsError means that a server has asked for something again and again.
type RoundsError struct{}

func (RoundsError) Error() string {
	return fmt.Sprintf("came back for answers %d times, and has no result yet", MaxRounds)
}

// Rounds makes a call, and makes it again for as long as its result asks the client
// something first. call is given the answers and the state that it has to bring back,
// both nil the first time, and answer the requests in the order of their names. An error
// of either is returned as it is.
func Rounds(
	call func(answers map[string]json.RawMessage, state json.RawMessage) (json.RawMessage, error),
	answer func(InputRequest) (json.RawMessage, error),
) (json.RawMessage, error) {
	var answers map[string]json.RawMessage
	var state json.RawMessage
	for range MaxRounds {
		result, err := call(answers, state)
		if err != nil {
			return nil, err
		}
		asks, ok := ReadInputRequired(result)
		if !ok {
			return result, nil
		}
		answers, state = map[string]json.RawMessage{}, asks.State
		for _, name := range slices.Sorted(maps.Keys(asks.Requests)) {
			if answers[name], err = answer(asks.Requests[name]); err != nil {
				return nil, err
			}
		}
	}
	return nil, RoundsError{}
}
