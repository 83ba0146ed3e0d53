package tokens

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/datadir"
)

// maxTokens limits the tokens of clients, and with them the time to check one.
const maxTokens = 1000

// Store keeps the tokens of one data folder. Any goroutine may call its methods.
type Store struct {
	main    datadir.Document[mainToken]
	clients datadir.Document[file]
}

// Open returns the tokens in a data folder. Nothing is read yet.
func Open(dir string) *Store {
	main, clients := filepath.Join(dir, "mcp-token"), filepath.Join(dir, "mcp-tokens.json")
	return &Store{
		main:    datadir.Document[mainToken]{Path: main, Private: true, Max: 4 << 10, Decode: decodeMain(main)},
		clients: datadir.Document[file]{Path: clients, Private: true, Max: 1 << 20, Decode: decodeFile(clients)},
	}
}

// newSecret returns a new random token, without its prefix.
func newSecret() string { return rand.Text() + rand.Text() }

// prefix begins a client's token, so that people and programs recognize one where it should not be.
const prefix = "dragoman_"

// okName matches the names of tokens: they are words of the command line and of records.
var okName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// Create makes a token and returns it. expires zero: never. The secret is stored nowhere.
func (s *Store) Create(ctx context.Context, name string, rights access.Rights, expires time.Time) (secret string, t Token, err error) {
	if !okName().MatchString(name) {
		return "", t, fmt.Errorf("%q is no name for a token: it may have up to 64 letters, digits, dots, hyphens and underscores, "+
			"and begins with a letter or a digit", name)
	}
	secret = prefix + newSecret()
	t = Token{
		ID: strings.ToLower(rand.Text()[:8]), Name: name, Rights: rights,
		Created: time.Now().UTC().Truncate(time.Second), Expires: expires.UTC().Truncate(time.Second),
		Sum: sha256.Sum256([]byte(secret)),
	}
	err = s.clients.Change(ctx, func(now file) (file, error) {
		switch {
		case slices.ContainsFunc(now.Tokens, func(o Token) bool { return o.called(name) || o.called(t.ID) }):
			return now, fmt.Errorf("there is a token %q already; revoke it first, or choose another name", name)
		case len(now.Tokens) >= maxTokens:
			return now, fmt.Errorf("there are %d tokens, which is the limit; revoke some first", len(now.Tokens))
		}
		return file{version, append(slices.Clone(now.Tokens), t)}, nil
	})
	if err != nil {
		return "", Token{}, fmt.Errorf("create a token: %w", err)
	}
	return secret, t, nil
}

// called reports whether a token has this name, in any case, or this id.
func (t Token) called(name string) bool { return t.ID == name || strings.EqualFold(t.Name, name) }

// List returns the tokens of clients, the oldest first.
func (s *Store) List() ([]Token, error) {
	f, err := s.clients.Read()
	if err != nil {
		return nil, fmt.Errorf("list the tokens: %w", err)
	}
	return slices.Clone(f.Tokens), nil
}

// Revoke removes the token with a name or an id, and returns it.
func (s *Store) Revoke(ctx context.Context, name string) (gone Token, err error) {
	err = s.clients.Change(ctx, func(now file) (file, error) {
		i := slices.IndexFunc(now.Tokens, func(t Token) bool { return t.called(name) })
		if i < 0 {
			return now, fmt.Errorf("there is no token %q; \"dragoman token list\" shows them", name)
		}
		gone = now.Tokens[i]
		return file{version, slices.Delete(slices.Clone(now.Tokens), i, i+1)}, nil
	})
	if err != nil {
		return Token{}, fmt.Errorf("revoke a token: %w", err)
	}
	return gone, nil
}

// ErrUnknown means that nobody has this token.
var ErrUnknown = errors.New("the token is not known")

// ExpiredError means that the token has ended.
type ExpiredError struct{ Token Token }

// Error implements error.
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("the token %q expired on %s", e.Token.Name, e.Token.Expires.Format(time.DateOnly))
}

// Admit returns the holder of a token: ErrUnknown or an *ExpiredError for one that is not valid. Another
// error means that a file cannot be used, and that the token is not in the other one.
func (s *Store) Admit(secret string) (access.Holder, error) {
	sum := checksum(sha256.Sum256([]byte(secret)))
	main, mainErr := s.main.Read()
	clients, clientsErr := s.clients.Read()
	isMain := main != nil && subtle.ConstantTimeCompare(sum[:], main[:]) == 1
	at := -1
	for i := range clients.Tokens {
		if subtle.ConstantTimeCompare(sum[:], clients.Tokens[i].Sum[:]) == 1 {
			at = i
		}
	}
	switch err := errors.Join(mainErr, clientsErr); {
	case isMain:
		return access.Owner(core.Local), nil
	case at >= 0:
		return clients.Tokens[at].holder(time.Now())
	case err != nil:
		return access.Holder{}, err
	}
	return access.Holder{}, ErrUnknown
}

// holder returns the holder of a token that somebody has shown.
func (t Token) holder(now time.Time) (access.Holder, error) {
	if t.Expired(now) {
		return access.Holder{}, &ExpiredError{t}
	}
	return access.Holder{Principal: core.Local, Token: t.ID, Name: t.Name, Rights: t.Rights}, nil
}
