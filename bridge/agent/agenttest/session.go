package agenttest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// session is a conversation.
type session struct {
	id, cwd string
	servers []*mcpServer

	mu     sync.Mutex // guards the fields below
	config []ConfigOption
	mode   string
	model  string
	title  string
	past   []json.RawMessage // its updates, for session/load
	turn   *turn             // the one that runs
	// behind stops what goes on behind a turn; nil: nothing does.
	behind context.CancelFunc
}

// kept is a line of a session's file: its first one has Cwd, others an update.
type kept struct {
	Cwd    string          `json:"cwd,omitempty"`
	Title  string          `json:"title,omitempty"`
	Update json.RawMessage `json:"update,omitempty"`
}

// opening holds the parameters of methods that open a session.
type opening struct {
	SessionID  string
	Cwd        string
	MCPServers []*mcpServer
}

// session returns the session that parameters name.
func (a *agent) session(params json.RawMessage) (*session, error) {
	var r struct{ SessionID string }
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, &failure{Code: codeParams, Message: err.Error()}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[r.SessionID]; s != nil {
		return s, nil
	}
	return nil, &failure{Code: codeNotFound, Message: "no session " + r.SessionID}
}

// add makes a session. id is empty for a new one.
func (a *agent) add(params json.RawMessage, id string) (*session, error) {
	var r opening
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, &failure{Code: codeParams, Message: err.Error()}
	}
	switch {
	case !a.authorized():
		return nil, &failure{Code: codeAuth, Message: "Authentication required: sign in to Scripted first", Data: encode(object{"authMethods": a.o.Auth})}
	case !filepath.IsAbs(r.Cwd):
		return nil, &failure{Code: codeParams, Message: "cwd must be absolute"}
	case r.MCPServers == nil:
		return nil, &failure{Code: codeParams, Message: "mcpServers is required"}
	}
	for _, m := range r.MCPServers {
		if m.Type == "http" && !a.o.HTTP || m.Type == "sse" && !a.o.SSE {
			return nil, &failure{Code: codeParams, Message: "unsupported transport: " + m.Type}
		}
	}
	if id == "" {
		id = "scripted-" + strings.ToLower(rand.Text()[:10])
	}
	s := &session{id: id, cwd: r.Cwd, servers: r.MCPServers, config: a.defaults()}
	if len(a.o.Modes) > 0 {
		s.mode = a.o.Modes[0]
	}
	if len(a.o.Models) > 0 {
		s.model = a.o.Models[0]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[s.id] = s
	return s, nil
}

// defaults returns the options of a new session. A client that shows no boolean options gets values
// on and off instead.
func (a *agent) defaults() []ConfigOption {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := slices.Clone(a.o.Config)
	for i, o := range list {
		if o.Type == "boolean" && !a.booleans {
			list[i].Type, list[i].CurrentValue = "select", "off"
			list[i].Options = json.RawMessage(`[{"value":"off","name":"Off"},{"value":"on","name":"On"}]`)
		}
	}
	return list
}

// opened answers a method that opens a session.
func (a *agent) opened(s *session, withID bool) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	result := object{}
	if withID {
		result["sessionId"] = s.id
	}
	if len(a.o.Modes) > 0 {
		modes := []object{}
		for _, m := range a.o.Modes {
			modes = append(modes, object{"id": m, "name": strings.ToUpper(m[:1]) + m[1:]})
		}
		result["modes"] = object{"currentModeId": s.mode, "availableModes": modes}
	}
	if len(a.o.Models) > 0 {
		models := []object{}
		for _, m := range a.o.Models {
			models = append(models, object{"modelId": m, "name": strings.ToUpper(m[:1]) + m[1:]})
		}
		result["models"] = object{"currentModelId": s.model, "availableModels": models}
	}
	if len(s.config) > 0 {
		result["configOptions"] = slices.Clone(s.config)
	}
	return result
}

func (a *agent) newSession(params json.RawMessage) (any, error) {
	s, err := a.add(params, "")
	if err != nil {
		return nil, err
	}
	if err := a.keep(s.id, kept{Cwd: s.cwd}); err != nil {
		return nil, err
	}
	return a.opened(s, true), nil
}

// openSession continues a stored session. With replay its updates are sent first.
func (a *agent) openSession(ctx context.Context, params json.RawMessage, replay bool) (any, error) {
	var r opening
	_ = json.Unmarshal(params, &r)
	first, past, err := a.stored(r.SessionID)
	if err != nil {
		return nil, err
	}
	s, err := a.add(params, r.SessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.past, s.title = past, first.Title
	s.mu.Unlock()
	for _, u := range past {
		if !replay {
			break
		}
		if err := a.peer.notify(ctx, "session/update", object{"sessionId": s.id, "update": u}); err != nil {
			return nil, err
		}
	}
	return a.opened(s, false), nil
}

func (a *agent) forkSession(params json.RawMessage) (any, error) {
	var r opening
	_ = json.Unmarshal(params, &r)
	first, past, err := a.stored(r.SessionID)
	if err != nil {
		return nil, err
	}
	s, err := a.add(params, "")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.past, s.title = slices.Clone(past), first.Title
	s.mu.Unlock()
	lines := []kept{{Cwd: s.cwd, Title: first.Title}}
	for _, u := range past {
		lines = append(lines, kept{Update: u})
	}
	if err := a.keep(s.id, lines...); err != nil {
		return nil, err
	}
	return a.opened(s, true), nil
}

// stored returns a session's first line and its updates.
func (a *agent) stored(id string) (first kept, past []json.RawMessage, err error) {
	missing := &failure{Code: codeNotFound, Message: "no session " + id}
	if a.o.Dir == "" || id == "" || strings.ContainsAny(id, `/\.`) {
		a.mu.Lock()
		s := a.sessions[id]
		a.mu.Unlock()
		if s == nil {
			return first, nil, missing
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return kept{Cwd: s.cwd, Title: s.title}, slices.Clone(s.past), nil
	}
	b, err := os.ReadFile(filepath.Join(a.o.Dir, id+".jsonl"))
	if err != nil {
		return first, nil, missing
	}
	for line := range bytes.Lines(b) {
		var k kept
		if json.Unmarshal(line, &k) != nil {
			continue // cut off by a crash
		}
		if k.Cwd != "" {
			first.Cwd = k.Cwd
		}
		if k.Title != "" {
			first.Title = k.Title
		}
		if k.Update != nil {
			past = append(past, k.Update)
		}
	}
	return first, past, nil
}

// keep appends lines to a session's file.
func (a *agent) keep(id string, lines ...kept) error {
	if a.o.Dir == "" {
		return nil
	}
	var b []byte
	for _, k := range lines {
		b = append(append(b, encode(k)...), '\n')
	}
	f, err := os.OpenFile(filepath.Join(a.o.Dir, id+".jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// pageSize is the number of sessions in a page of session/list.
const pageSize = 10

func (a *agent) list(params json.RawMessage) (any, error) {
	var r struct{ Cwd, Cursor string }
	_ = json.Unmarshal(params, &r)
	files, err := filepath.Glob(filepath.Join(a.o.Dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	list, next := []object{}, ""
	if a.o.Dir == "" {
		files = nil
	}
	for _, path := range files { // by name
		id := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		first, _, err := a.stored(id)
		stat, serr := os.Stat(path)
		if err != nil || serr != nil || r.Cwd != "" && first.Cwd != r.Cwd || id <= r.Cursor {
			continue
		}
		if len(list) == pageSize {
			next = list[pageSize-1]["sessionId"].(string)
			break
		}
		info := object{"sessionId": id, "cwd": first.Cwd, "updatedAt": stat.ModTime().UTC().Format(time.RFC3339)}
		if first.Title != "" {
			info["title"] = first.Title
		}
		list = append(list, info)
	}
	result := object{"sessions": list}
	if next != "" {
		result["nextCursor"] = next
	}
	return result, nil
}

// closeSession ends a session, and deletes it if that is wanted. It is no error if there is none.
func (a *agent) closeSession(params json.RawMessage, remove bool) error {
	if s, err := a.session(params); err == nil {
		s.cancel()
		s.closeServers()
		a.mu.Lock()
		delete(a.sessions, s.id)
		a.mu.Unlock()
	}
	var r opening
	if _ = json.Unmarshal(params, &r); remove && a.o.Dir != "" && !strings.ContainsAny(r.SessionID, `/\.`) {
		_ = os.Remove(filepath.Join(a.o.Dir, r.SessionID+".jsonl")) // it may be gone
	}
	return nil
}

func (a *agent) setMode(ctx context.Context, params json.RawMessage) error {
	var r struct{ ModeID string }
	_ = json.Unmarshal(params, &r)
	s, err := a.session(params)
	if err != nil {
		return err
	}
	if !slices.Contains(a.o.Modes, r.ModeID) {
		return &failure{Code: codeParams, Message: "unknown mode " + r.ModeID}
	}
	s.mu.Lock()
	s.mode = r.ModeID
	s.mu.Unlock()
	return a.peer.notify(ctx, "session/update", object{"sessionId": s.id, "update": object{"sessionUpdate": "current_mode_update", "currentModeId": r.ModeID}})
}

func (a *agent) setModel(params json.RawMessage) error {
	var r struct{ ModelID string }
	_ = json.Unmarshal(params, &r)
	s, err := a.session(params)
	if err != nil {
		return err
	}
	if !slices.Contains(a.o.Models, r.ModelID) {
		return &failure{Code: codeParams, Message: "unknown model " + r.ModelID}
	}
	s.mu.Lock()
	s.model = r.ModelID
	s.mu.Unlock()
	return nil
}

func (a *agent) setOption(params json.RawMessage) (any, error) {
	var r struct {
		ConfigID string
		Value    any
	}
	_ = json.Unmarshal(params, &r)
	s, err := a.session(params)
	if err != nil {
		return nil, err
	}
	if slices.Contains(a.o.Refuse, fmt.Sprintf("%s=%v", r.ConfigID, r.Value)) {
		return nil, &failure{Code: codeInternal, Message: fmt.Sprintf("your plan has no %s %v", r.ConfigID, r.Value)}
	}
	if err := s.choose(r.ConfigID, r.Value); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return object{"configOptions": slices.Clone(s.config)}, nil
}

// choose sets an option.
func (s *session) choose(id string, value any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.config, func(o ConfigOption) bool { return o.ID == id })
	if i < 0 {
		return &failure{Code: codeParams, Message: "unknown option " + id}
	}
	o := &s.config[i]
	_, isBool := value.(bool)
	text, isText := value.(string)
	if o.Type == "boolean" && !isBool || o.Type != "boolean" && !(isText && slices.Contains(values(o.Options), text)) {
		return &failure{Code: codeParams, Message: fmt.Sprintf("option %s has no value %v", id, value)}
	}
	o.CurrentValue = value
	return nil
}

// values lists the values of an option, those of its groups included.
func values(options json.RawMessage) (list []string) {
	var entries []struct {
		Value   *string
		Options json.RawMessage
	}
	if json.Unmarshal(options, &entries) != nil {
		return nil
	}
	for _, e := range entries {
		if e.Value != nil {
			list = append(list, *e.Value)
		}
		list = append(list, values(e.Options)...)
	}
	return list
}

// cancel ends the turn that runs, unless it does not listen, and what goes on behind one.
func (s *session) cancel() {
	s.mu.Lock()
	t, behind := s.turn, s.behind
	s.mu.Unlock()
	if behind != nil {
		behind()
	}
	if t != nil && !t.deaf.Load() {
		t.stopped(errCanceled)
	}
}
