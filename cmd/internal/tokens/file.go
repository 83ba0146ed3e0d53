package tokens

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"dragoman/core/access"
)

// Token is what is stored about a client's token.
type Token struct {
	ID      string        `json:"id"`
	Name    string        `json:"name"` // under which its client's actions are recorded
	Rights  access.Rights `json:"rights"`
	Created time.Time     `json:"created"`
	Expires time.Time     `json:"expires,omitzero"` // zero: never
	Sum     checksum      `json:"sha256"`
}

// Expired reports whether the token has ended.
func (t Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// checksum is the SHA-256 of a token.
type checksum [sha256.Size]byte

// MarshalText implements encoding.TextMarshaler.
func (c checksum) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(c[:])), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *checksum) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(c) {
		return errors.New("not a checksum")
	}
	copy(c[:], b)
	return nil
}

// version is the version of the file.
const version = 1

// file is the content of the file, in the order in which the tokens were made.
type file struct {
	Version int     `json:"version"`
	Tokens  []Token `json:"tokens"`
}

// decodeFile reads the file. What it does not know is an error, and the error repeats nothing of the
// content.
func decodeFile(path string) func([]byte) (file, error) {
	return func(text []byte) (file, error) {
		var f file
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		switch err := d.Decode(&f); {
		case f.Version > version:
			return file{}, fmt.Errorf("%s is of a later version of dragoman", path)
		case err != nil || d.More() || f.Version != version || slices.ContainsFunc(f.Tokens, Token.incomplete):
			return file{}, fmt.Errorf("%s is damaged, or of another version of dragoman", path)
		}
		return f, nil
	}
}

// incomplete reports whether a member is missing.
func (t Token) incomplete() bool {
	return t.ID == "" || t.Name == "" || t.Rights == 0 || t.Created.IsZero() || t.Sum == checksum{}
}
