package secrets

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"dragoman/core/datadir"
)

// tokenFile contains the bearer token of MCP clients over HTTP. It is in the data folder.
const tokenFile = "mcp-token"

// Token returns the bearer token of MCP clients over HTTP and the file that stores it, and
// creates both if they are missing. A file that others can read is an error, and so is an empty
// one. If two processes start at once, one creates it, and both return the same.
func (s *Store) Token() (token, path string, err error) {
	dir, err := s.env.DataDir()
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, tokenFile)
	token, err = tokenIn(path)
	return token, path, err
}

func tokenIn(path string) (string, error) {
	token, err := readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	made := rand.Text() + rand.Text()
	if err := datadir.Create(path, []byte(made+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the token: %w", err)
	}
	return readToken(path)
}

func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf(
			"the token in %s can be read by others (%v); delete it, and a new one is made",
			path,
			mode,
		)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", fmt.Errorf("the token in %s is empty; delete the file, and a new one is made", path)
	}
	return token, nil
}
