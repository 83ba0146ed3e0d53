package eca

import (
	"encoding/json"
	"fmt"
)

// configure hands the client's options to whoever reads configurations. What is wrong
// with them fails nothing: the user hears of it as soon as something can be said, and
// once more in the chat, for some clients show no messages.
func (s *Server) configure(options json.RawMessage) {
	if s.opts.Configure == nil || len(options) == 0 || string(options) == "null" {
		return
	}
	if err := s.configured(options); err != nil {
		s.hintAt("The initialization options of the editor are wrong, and were not taken:\n" + err.Error())
	}
}

// hintAt has the user hear something in the chat, once.
func (s *Server) hintAt(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hint != "" && text != "" {
		text = s.hint + "\n\n" + text
	}
	if text != "" {
		s.hint = text
	}
}

// configured is Configure; its panic is an error.
func (s *Server) configured(options json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	return s.opts.Configure(options)
}

func (s *Server) hintNow() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hint
}

// takeHint is what the user must hear in the chat, once.
func (s *Server) takeHint() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	hint := s.hint
	s.hint = ""
	if hint == "" {
		return nil
	}
	return []string{hint}
}
