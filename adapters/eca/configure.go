package eca

import (
	"encoding/json"
	"fmt"
)

// configure passes the client's options to the reader of configurations. Mistakes in them fail
// nothing: the user gets a message as soon as messages are possible, and another one in the chat,
// because some clients show no messages.
func (s *Server) configure(options json.RawMessage) {
	if s.opts.Configure == nil || len(options) == 0 || string(options) == "null" {
		return
	}
	if err := s.configured(options); err != nil {
		s.hintAt("Some initialization options of the editor are not used:\n" + err.Error())
	}
}

// hintAt leaves a text to be shown once in the chat.
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

// configured calls Configure and turns a panic into an error.
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

// takeHint returns the text that is to be shown once in the chat, and clears it.
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
