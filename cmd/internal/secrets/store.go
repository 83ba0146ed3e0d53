package secrets

import (
	"path/filepath"
	"sync"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/core/glob"
)

// Store contains the keys of providers and the logins to MCP servers, in the data folder. It
// reads nothing until it is used.
type Store struct {
	env *program.Environment

	once  sync.Once
	ring  Ring   // the system keyring; nil: files are not encrypted
	vault *vault // of the data folder, one for the whole process
}

// New returns the Store in the environment's data folder. ring may be nil.
func New(env *program.Environment, ring Ring) *Store { return &Store{env: env, ring: ring} }

// Patient gives the keyring more time, for a person who is there to unlock it. It is called
// before any request.
func (s *Store) Patient() {
	if r, ok := s.ring.(childRing); ok {
		r.wait = time.Minute
		s.ring = r
	}
}

func (s *Store) vaultIn(dir string) *vault {
	s.once.Do(func() { s.vault = newVault(s.ring, dir) })
	return s.vault
}

// Logins returns the keys of providers.
func (s *Store) Logins() *Logins {
	dir, err := s.env.DataDir()
	if err != nil {
		return newLogins("", newVault(nil, ""))
	}
	return newLogins(dir, s.vaultIn(dir))
}

// ServerLogins returns the logins to MCP servers; false: there is no place for them.
func (s *Store) ServerLogins() (ServerLogins, bool) {
	dir, err := s.env.DataDir()
	if err != nil {
		return ServerLogins{}, false
	}
	return ServerLogins{filepath.Join(dir, serverLoginDir), s.vaultIn(dir)}, true
}

// Files returns patterns of all stored files. No agent's call may read them.
func (s *Store) Files() []string {
	dir, err := s.env.DataDir()
	if err != nil {
		return nil
	}
	dir = glob.Quote(filepath.ToSlash(dir))
	return []string{dir + "/" + loginFile, dir + "/" + serverLoginDir + "/**"}
}
