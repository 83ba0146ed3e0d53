package core

import (
	"io"

	"dragoman/core/internal/seen"
)

// Texts is what a session knows about the texts of files, by their digests (TextSum), so that an
// editor's text that is only late is told from one with unsaved work (package files).
type (
	Texts   = seen.Texts
	TextSum = seen.Sum
)

const (
	// textsName is the file among the session's Spills with its Texts.
	textsName = "texts.json"
	// maxTexts limits what is read of it, in bytes.
	maxTexts = 16 << 20
)

// Texts implements Host and ToolHost. A sub-session has those of its parent.
func (h host) Texts() *Texts { return h.s.knownTexts() }

func (s *Session) knownTexts() *Texts {
	s.mu.Lock()
	texts, since := s.texts, s.state.acted
	s.mu.Unlock()
	texts.Begin(since)
	return texts
}

// loadTexts reads what the session's last owner has kept. Without it, which is no error, editors' texts
// are treated with more care.
func (s *Session) loadTexts() {
	if s.meta.Parent != "" {
		return
	}
	f, err := s.journal.Spilled(SpillRef + textsName)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // it was only read
	if data, err := io.ReadAll(io.LimitReader(f, maxTexts)); err == nil {
		_ = s.knownTexts().Load(data)
	}
}

// storeTexts keeps what is known for the next owner. A failure only has that one take more care.
func (s *Session) storeTexts() {
	if s.meta.Parent != "" {
		return
	}
	data := s.knownTexts().Save()
	if data == nil {
		return
	}
	_ = s.journal.Unspill(SpillRef + textsName) // there may be none
	f, _, err := s.journal.Spill(textsName)
	if err != nil {
		return
	}
	_, _ = f.Write(data)
	_ = f.Close()
}
