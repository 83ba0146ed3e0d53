package secrets

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"dragoman/core/datadir"
)

// vault encrypts the content of files in the data folder with a key of its own, which is in
// the system keyring. So the size limit of a keyring (2.5 KB on Windows, less than some
// tokens) does not matter, listing needs no keyring, and a process asks it once, when a secret
// is first needed.
type vault struct {
	ring Ring   // nil: none
	lock string // the file that is locked while the key is created

	turn chan struct{} // holds the one token of the goroutine that uses the keyring

	mu    sync.Mutex // guards the fields below
	aead  cipher.AEAD
	err   error // the reason why there is no key
	tried time.Time
}

// Ring is the system's keyring.
type Ring interface {
	// Get returns a secret; ErrNoSecret: there is none of that name.
	Get(ctx context.Context, account string) (string, error)
	Set(ctx context.Context, account, secret string) error
}

var (
	// ErrNoSecret means that the keyring has no secret of that name.
	ErrNoSecret = errors.New("the system keyring does not have it")

	errNoRing = errors.New("there is no system keyring")
)

const (
	// Account is the name of our key in the keyring.
	Account = "key of the data folder"
	// ringRetry is the time before a keyring that did not answer is asked again.
	ringRetry = time.Minute
)

func newVault(r Ring, dir string) *vault {
	return &vault{ring: r, lock: filepath.Join(dir, "keyring.lock"), turn: make(chan struct{}, 1)}
}

// seal encrypts a secret, which open decrypts under the same name. It creates the key if there is
// none yet.
func (v *vault) seal(ctx context.Context, name string, secret []byte) (string, error) {
	aead, err := v.key(ctx, true)
	if err != nil {
		return "", err
	}
	return base64.RawStdEncoding.EncodeToString(aead.Seal(nil, nil, secret, []byte(name))), nil
}

func (v *vault) open(ctx context.Context, name, sealed string) ([]byte, error) {
	aead, err := v.key(ctx, false)
	if err != nil {
		return nil, fmt.Errorf("it is encrypted with a key from the system keyring: %w", err)
	}
	text, err := base64.RawStdEncoding.DecodeString(sealed)
	if err == nil {
		text, err = aead.Open(nil, nil, text, []byte(name))
	}
	if err != nil {
		return nil, errors.New(
			"it is encrypted with another key than the one that the system's keyring has now; log in again",
		)
	}
	return text, nil
}

// key returns the encryption key. One of several callers asks the keyring.
func (v *vault) key(ctx context.Context, create bool) (cipher.AEAD, error) {
	if v.ring == nil {
		return nil, errNoRing
	}
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	v.mu.Lock()
	aead, err, late := v.aead, v.err, time.Since(v.tried) > ringRetry
	v.mu.Unlock()
	if aead != nil || err != nil && !late && !(create && errors.Is(err, ErrNoSecret)) {
		return aead, err
	}
	aead, err = v.fetch(ctx, create)
	if ctx.Err() == nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.aead, v.err, v.tried = aead, err, time.Now()
	}
	return aead, err
}

func (v *vault) fetch(ctx context.Context, create bool) (cipher.AEAD, error) {
	text, err := v.ring.Get(ctx, Account)
	if errors.Is(err, ErrNoSecret) && create {
		text, err = v.create(ctx)
	}
	if err != nil {
		return nil, err
	}
	key, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("the entry %q of dragoman in the system keyring is not one of its keys", Account)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// create creates a key, unless another process has just done so. The key is valid once the
// keyring has returned it.
func (v *vault) create(ctx context.Context) (string, error) {
	if err := os.MkdirAll(filepath.Dir(v.lock), 0o700); err != nil {
		return "", err
	}
	held, err := datadir.WaitLock(ctx, v.lock)
	if err != nil {
		return "", err
	}
	defer held.Unlock() //nolint:errcheck // it is unlocked in any case
	if text, err := v.ring.Get(ctx, Account); !errors.Is(err, ErrNoSecret) {
		return text, err
	}
	key := make([]byte, 32)
	rand.Read(key)
	if err := v.ring.Set(ctx, Account, base64.RawStdEncoding.EncodeToString(key)); err != nil {
		return "", err
	}
	return v.ring.Get(ctx, Account)
}

// where describes how a secret is stored in a file: encrypted, or plain if sealed is empty.
func (v *vault) where(ctx context.Context, file, sealed string) string {
	if sealed != "" {
		return "in " + file + ", encrypted with a key of the system's keyring"
	}
	return "unencrypted in " + file + ", which only you can read (" + v.fault(ctx) + ")"
}

// fault returns the reason why nothing is encrypted.
func (v *vault) fault(ctx context.Context) string {
	if _, err := v.key(ctx, false); err != nil && !errors.Is(err, ErrNoSecret) {
		return err.Error()
	}
	return "it was kept before the system's keyring was used; giving it again encrypts it"
}
