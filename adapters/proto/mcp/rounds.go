package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// InputRequest is a server's request for input, within a result.
type InputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// InputRequired is a result that first asks the client for input (2026-07-28, Multi Round-Trip
// Requests): the client makes the same call again, with the answers and the state.
type InputRequired struct {
	Type     string                  `json:"resultType"` // ResultInputRequired
	Requests map[string]InputRequest `json:"inputRequests,omitempty"`
	State    json.RawMessage         `json:"requestState,omitempty"` // a string
}

// ReadInputRequired reads a result that asks the client for input; ok is false for any other.
func ReadInputRequired(result json.RawMessage) (r InputRequired, ok bool) {
	return r, json.Unmarshal(result, &r) == nil && r.Type == ResultInputRequired
}

// MaxRounds limits the calls that Rounds makes.
const MaxRounds = 10

// RoundsError means that a server keeps asking for input.
type RoundsError struct{}

func (RoundsError) Error() string {
	return fmt.Sprintf("came back for answers %d times, and has no result yet", MaxRounds)
}

// Rounds makes a call, and repeats it as long as its result asks the client for input. call gets
// the answers and the state to bring back, both nil the first time, and answer gets the requests
// in the order of their names. An error of either is returned unchanged.
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
