package ecatest

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Variable is the variable of the environment with the options of a server.
const Variable = "ECATEST_OPTIONS"

// Options configure a server.
type Options struct {
	Dir      string            `json:"dir,omitempty"`    // where it keeps its chats; "": nowhere
	Record   string            `json:"record,omitempty"` // a file to which it adds each message that it gets
	Models   []string          `json:"models,omitempty"`
	Agents   []string          `json:"agents,omitempty"`
	Variants []string          `json:"variants,omitempty"`
	Faults   map[string]string `json:"faults,omitempty"` // by method: silent, dies, fails, or a JSON result
	Login    string            `json:"login,omitempty"`  // a file that is there once the user has logged in; "": no login is wanted
}

// Value returns the options as the value of Variable.
func (o Options) Value() string {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// server is a connection.
type server struct {
	o   Options
	out *output

	mu      sync.Mutex // guards the fields below
	chats   map[string]*chat
	asked   map[string]chan message // requests of ours, by id
	n       int
	folders []string
}

// chat is a chat, with what was sent about it.
type chat struct {
	ID       string            `json:"id"`
	Title    string            `json:"title"`
	Contents []json.RawMessage `json:"contents"`

	stop     chan struct{} // closed when the turn is stopped
	over     chan struct{} // closed when the turn is over
	steers   chan string
	decided  map[string]chan bool // by call
	messages int
}

// Main serves a client with the options of the environment, and returns the exit code.
func Main(from io.Reader, to io.Writer) int {
	var o Options
	if err := json.Unmarshal([]byte(os.Getenv(Variable)), &o); err != nil {
		return 2
	}
	s := &server{o: o, out: &output{w: to}, chats: map[string]*chat{}, asked: map[string]chan message{}}
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		m, err := read(in)
		if errors.Is(err, io.EOF) || err != nil {
			return 0
		}
		s.record(m)
		if m.Method == "exit" {
			return 0
		}
		s.handle(m)
	}
}

func (s *server) record(m message) {
	if s.o.Record == "" {
		return
	}
	f, err := os.OpenFile(s.o.Record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	line := m.Method + " " + string(m.Params)
	if m.Method == "" {
		line = "answer " + string(m.Result)
	}
	_, _ = f.WriteString(strings.ReplaceAll(line, "\n", " ") + "\n")
}

// handle handles a message.
func (s *server) handle(m message) {
	if m.Method == "" {
		s.mu.Lock()
		wait := s.asked[string(m.ID)]
		delete(s.asked, string(m.ID))
		s.mu.Unlock()
		if wait != nil {
			wait <- m
		}
		return
	}
	switch how := s.o.Faults[m.Method]; {
	case how == "":
	case how == "silent":
		return
	case how == "dies":
		os.Exit(7)
	case how == "fails":
		s.out.write(message{ID: m.ID, Error: &fault{-32603, "it failed"}})
		return
	default:
		s.out.write(message{ID: m.ID, Result: json.RawMessage(how)})
		return
	}
	var p struct {
		ChatID     string `json:"chatId"`
		ToolCallID string `json:"toolCallId"`
		Message    string `json:"message"`
		ContentID  string `json:"contentId"`
		Limit      int    `json:"limit"`
		Model      string `json:"model"`
		Provider   string `json:"provider"`
		Folders    []struct {
			URI string `json:"uri"`
		} `json:"workspaceFolders"`
	}
	_ = json.Unmarshal(m.Params, &p)
	switch m.Method {
	case "initialize":
		for _, f := range p.Folders {
			s.folders = append(s.folders, f.URI)
		}
		s.answer(m, map[string]any{"chatWelcomeMessage": "Welcome", "serverInfo": map[string]string{"name": "scripted", "version": "1"}})
	case "initialized":
		s.config("")
	case "shutdown":
		s.answer(m, nil)
	case "chat/prompt":
		s.prompt(m, s.chat(p.ChatID, true), p.Message, p.Model)
	case "chat/promptStop":
		if c := s.chat(p.ChatID, false); c != nil {
			s.mu.Lock()
			stop := c.stop
			c.stop = nil
			s.mu.Unlock()
			if stop != nil {
				close(stop)
			}
		}
	case "chat/promptSteer":
		if c := s.chat(p.ChatID, false); c != nil {
			c.steers <- p.Message
		}
	case "chat/toolCallApprove", "chat/toolCallReject":
		if c := s.chat(p.ChatID, false); c != nil {
			s.mu.Lock()
			wait := c.decided[p.ToolCallID]
			delete(c.decided, p.ToolCallID)
			s.mu.Unlock()
			if wait != nil {
				wait <- m.Method == "chat/toolCallApprove"
			}
		}
	case "chat/selectedModelChanged":
		s.config(p.ChatID)
	case "chat/open":
		s.open(m, p.ChatID, p.Limit)
	case "chat/list":
		s.list(m)
	case "chat/rollback":
		s.rollback(m, p.ChatID, p.ContentID)
	case "chat/queryCommands":
		s.answer(m, map[string]any{"commands": []any{map[string]any{"name": "costs", "description": "Show the costs", "type": "native", "arguments": []any{}}}})
	case "providers/list":
		auth, local := "authenticated", "local"
		if s.wantsLogin() {
			auth, local = "unauthenticated", "not-running"
		}
		s.answer(m, map[string]any{"providers": []any{
			map[string]any{"id": "acme", "label": "Acme", "configured": true, "auth": map[string]string{"status": auth}, "models": []any{}, "login": map[string]any{"methods": []any{map[string]string{"key": "web", "label": "In the browser"}, map[string]string{"key": "key", "label": "With a key"}}}},
			map[string]any{"id": "local", "configured": true, "auth": map[string]string{"status": local}, "models": []any{}},
		}})
	case "providers/login":
		if strings.Contains(string(m.Params), `"key"`) {
			s.answer(m, map[string]any{"action": "input", "fields": []any{map[string]string{"key": "api-key", "label": "Key", "type": "secret"}}})
			return
		}
		s.loggedIn(true)
		s.answer(m, map[string]any{"action": "authorize", "url": "https://acme.example/login", "message": "Log in there"})
		s.out.notify("providers/updated", map[string]any{"id": p.Provider, "configured": true, "auth": map[string]string{"status": "authenticated"}, "models": []any{}})
	case "providers/loginInput":
		s.loggedIn(true)
		s.answer(m, map[string]any{"action": "done"})
	case "providers/logout":
		s.loggedIn(false)
		s.answer(m, map[string]any{})
	default:
		if m.ID != nil {
			s.out.write(message{ID: m.ID, Error: &fault{-32601, "no such method"}})
		}
	}
}

func (s *server) wantsLogin() bool {
	if s.o.Login == "" {
		return false
	}
	_, err := os.Stat(s.o.Login)
	return err != nil
}

func (s *server) loggedIn(in bool) {
	if s.o.Login == "" {
		return
	}
	if !in {
		_ = os.Remove(s.o.Login)
		return
	}
	_ = os.WriteFile(s.o.Login, []byte("in"), 0o600)
}

func (s *server) answer(m message, result any) {
	s.out.write(message{ID: m.ID, Result: toJSON(result)})
}

// config says what can be chosen, for all chats or for one.
func (s *server) config(chat string) {
	models, agents := s.o.Models, s.o.Agents
	if models == nil {
		models = []string{"acme/small", "acme/large"}
	}
	if agents == nil {
		agents = []string{"code", "plan"}
	}
	is := map[string]any{"models": models, "agents": agents}
	if chat == "" {
		is["selectModel"], is["selectAgent"], is["selectVariant"] = models[0], agents[0], nil
	}
	if s.o.Variants != nil {
		is["variants"] = s.o.Variants
	}
	params := map[string]any{"chat": is}
	if chat != "" {
		params["chatId"] = chat
	}
	s.out.notify("config/updated", params)
}

// chat finds a chat, in memory or on the disk; nil: there is none.
func (s *server) chat(id string, create bool) *chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[id]; c != nil {
		return c
	}
	c := &chat{ID: id, steers: make(chan string, 10), decided: map[string]chan bool{}}
	if s.o.Dir != "" {
		b, err := os.ReadFile(s.file(id))
		if err == nil {
			_ = json.Unmarshal(b, c)
			create = true
		}
	}
	if !create {
		return nil
	}
	s.chats[id] = c
	return c
}

func (s *server) file(id string) string { return filepath.Join(s.o.Dir, id+".json") }

// keep keeps a content, and writes the chat.
func (s *server) keep(c *chat, params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Contents = append(c.Contents, params)
}

func (s *server) write(c *chat) {
	if s.o.Dir == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := json.Marshal(c)
	if err == nil {
		_ = os.WriteFile(s.file(c.ID), b, 0o600)
	}
}

// open repeats a chat.
func (s *server) open(m message, id string, limit int) {
	c := s.chat(id, false)
	if c == nil {
		s.answer(m, map[string]any{"found": false})
		return
	}
	s.out.notify("chat/cleared", map[string]any{"chatId": id, "messages": true})
	s.out.notify("chat/opened", map[string]any{"chatId": id, "title": c.Title})
	list := c.Contents
	if limit > 0 {
		list = list[max(len(list)-limit, 0):]
	}
	for _, params := range list {
		s.out.notify("chat/contentReceived", params)
	}
	s.answer(m, map[string]any{"found": true, "chatId": id, "title": c.Title, "selection": map[string]any{"model": nil, "agent": "code", "variant": nil, "variants": []string{}, "trust": false}})
}

// list lists the chats on the disk.
func (s *server) list(m message) {
	list := []any{}
	names, _ := filepath.Glob(filepath.Join(s.o.Dir, "*.json"))
	for i, name := range names {
		var c chat
		b, err := os.ReadFile(name)
		if err == nil && json.Unmarshal(b, &c) == nil {
			list = append(list, map[string]any{"id": c.ID, "title": c.Title, "status": "idle", "createdAt": 1700000000000, "updatedAt": 1700000000000 + i, "messageCount": 1})
		}
	}
	s.answer(m, map[string]any{"chats": list})
}

// rollback takes a message of the user and what follows it back.
func (s *server) rollback(m message, id, content string) {
	c := s.chat(id, false)
	if c == nil {
		s.answer(m, map[string]any{})
		return
	}
	for i, params := range c.Contents {
		if strings.Contains(string(params), `"contentId":"`+content+`"`) {
			c.Contents = c.Contents[:i]
			break
		}
	}
	s.write(c)
	s.out.notify("chat/cleared", map[string]any{"chatId": id, "messages": true})
	for _, params := range c.Contents {
		s.out.notify("chat/contentReceived", params)
	}
	s.answer(m, map[string]any{})
}
