package mcp

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
)

// resumeState is the state that a client of 2026-07-28 returns with its user's answers. It is
// sealed: the client can neither read nor change it, and only the process that sealed it can open
// it.
type resumeState struct {
	Of       string         `json:"of"` // the holder's key
	Tool     string         `json:"tool"`
	Session  core.SessionID `json:"session"`
	Turn     core.TurnID    `json:"turn"`
	Progress int            `json:"progress"` // progress sent so far; a client may use its token again
	Rounds   int            `json:"rounds"`   // calls so far, including the next one
	Until    time.Time      `json:"until"`
}

// comebackTime limits the time until a client comes back. Its questions are rejected long before.
const comebackTime = 24 * time.Hour

func (s *Server) seal(b resumeState) (string, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.key.Seal(nil, nil, text, nil)), nil
}

// unseal reads the state that a call brings back; a call without state is a new one, and gets
// nil.
func (c *client) unseal(p *mcp.CallToolParamsRaw) (*resumeState, error) {
	if p.RequestState == "" && p.InputResponses == nil {
		return nil, nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(p.RequestState)
	if err == nil {
		sealed, err = c.server.key.Open(nil, nil, sealed, nil)
	}
	b := new(resumeState)
	if err != nil || json.Unmarshal(sealed, b) != nil || b.Of != c.host.of.Key() || b.Tool != p.Name || time.Now().After(b.Until) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState is not one that this gateway gave out, or it is too old"}
	}
	return b, nil
}

// maxRounds limits the times that a client is asked to come back for one call: several give up a
// call at the tenth (as we do, proto.MaxRounds). After that the call is answered as running.
const maxRounds = 8

// askAgain answers a call with the questions to its user or its model. The turn keeps waiting;
// the client calls again.
func (c *client) askAgain(f *follower) (*mcp.CallToolResult, any, error) {
	state, err := c.server.seal(resumeState{
		Of: c.host.of.Key(), Tool: f.req.Params.Name, Session: f.h.id, Turn: f.turn.id, Progress: f.progress.n, Rounds: f.rounds + 1, Until: time.Now().Add(comebackTime),
	})
	if err != nil {
		return nil, nil, err
	}
	requests := mcp.InputRequestMap{}
	if f.asker == asksAgain {
		for _, a := range f.askable(f.pending()) {
			requests[string(a.ID)] = elicitation(proto.Modern, leavesTexts(f.req), f.h.meta, a, f.turn.callOf(a))
			c.limit(f.h, a)
		}
	}
	if f.lends == asksAgain {
		for _, m := range f.samples() {
			requests[string(m.ID)] = m.Params
		}
	}
	if len(requests) == 0 { // settled in the meantime
		return f.answer()
	}
	return &mcp.CallToolResult{InputRequests: requests, RequestState: state}, nil, nil
}

// resume settles the questions with the answers that a client has brought back.
func (c *client) resume(h *heldSession, b *resumeState, answers mcp.InputResponseMap) {
	if !h.mine() {
		return
	}
	c.server.loans.To(h.a, b.Turn).Settle(answers)
	for _, a := range h.a.Pending() {
		answer, ok := answers[string(a.ID)]
		if !ok || a.Turn != b.Turn || a.Secret {
			continue
		}
		h.unlimit(a.ID)
		dismissed := false
		if r, ok := answer.(*mcp.ElicitResult); ok && r != nil {
			dismissed = c.understand(h, a, r)
		} else {
			dismissed = c.unable(h, a, "the client answered something else")
		}
		if dismissed {
			h.dismiss(a.ID)
		}
	}
}

// limit takes the client out of an approval, or leaves a question without an answer, if it does not
// come back in time.
func (c *client) limit(h *heldSession, a core.Ask) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.limits[a.ID] != nil {
		return
	}
	c.timers.Add(1)
	t := time.AfterFunc(c.server.asking(), func() {
		defer c.timers.Done()
		if c.expire(h, a) {
			h.mu.Lock()
			delete(h.limits, a.ID)
			h.mu.Unlock()
			h.dismiss(a.ID)
		}
	})
	h.limits[a.ID] = func() {
		if t.Stop() {
			c.timers.Done()
		}
	}
}

func (h *heldSession) unlimit(id core.AskID) {
	h.mu.Lock()
	stop := h.limits[id]
	delete(h.limits, id)
	h.mu.Unlock()
	if stop != nil {
		stop()
	}
}
