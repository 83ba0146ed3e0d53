package tokens

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"dragoman/core/datadir"
)

// Main returns the main token and the file that stores it, and creates both if they are missing. A
// file that others can read is an error, and so is an empty one. If two processes start at once, one
// creates it, and both return the same.
func (s *Store) Main() (token, path string, err error) {
	token, err = s.readMain()
	if errors.Is(err, fs.ErrNotExist) {
		made := newSecret()
		if err := datadir.Create(s.main.Path, []byte(made+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", "", fmt.Errorf("make the token: %w", err)
		}
		token, err = s.readMain()
	}
	return token, s.main.Path, err
}

// readMain returns the main token; fs.ErrNotExist: there is no file.
func (s *Store) readMain() (string, error) {
	if _, err := s.main.Read(); err != nil {
		return "", fmt.Errorf("%w; delete it, and a new token is made", err)
	}
	b, err := os.ReadFile(s.main.Path)
	return strings.TrimSpace(string(b)), err
}

// mainToken is the checksum of the main token; nil: there is none.
type mainToken *checksum

// decodeMain reads the file of the main token.
func decodeMain(path string) func([]byte) (mainToken, error) {
	return func(text []byte) (mainToken, error) {
		token := strings.TrimSpace(string(text))
		if token == "" {
			return nil, fmt.Errorf("%s is empty", path)
		}
		sum := checksum(sha256.Sum256([]byte(token)))
		return &sum, nil
	}
}
