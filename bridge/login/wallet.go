package login

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
)

// Wallet makes the logins to servers, stores them, and adds their tokens to requests. Its methods
// may be called concurrently.
type Wallet struct {
	store  Store        // nil: logins are impossible
	client *http.Client // for requests to the servers

	mu      sync.Mutex         // guards the field below
	bearers map[string]*bearer // by server
}

// New returns a wallet. client sends the requests to the servers through its Transport, which
// must not be nil, and decides which redirects are followed.
func New(store Store, client *http.Client) *Wallet {
	return &Wallet{store: store, client: client, bearers: map[string]*bearer{}}
}

// Config has the settings of a login. With the zero value the server decides everything.
type Config struct {
	// ClientID and ClientSecret belong to a client that was registered by hand; without them one
	// is registered at each login, if the server allows that.
	ClientID, ClientSecret string
	// Issuer is the client's authorization server. Empty: the one of the first login.
	Issuer string
	Scopes []string // empty: those that the server names
	Port   int      // of the address that the browser returns to; 0: any
}

// Store stores logins, as text that only a Wallet understands.
type Store interface {
	// Load returns the stored record of a server; nil: there is none.
	Load(ctx context.Context, server string) ([]byte, error)
	// Change replaces the stored record of a server by the result of change; nil removes it. No
	// other Change of that server runs concurrently, in any process. change may use the network.
	Change(ctx context.Context, server string, change func(kept []byte) ([]byte, error)) error
}

// Site describes a server of the configuration for a login.
type Site struct {
	Server string // its name
	URL    string // empty: it is a program
	Keyed  bool   // the configuration has a key for it
	Config Config
}

// bearer returns the bearer of a server, which need not have a login yet; nil: it cannot have
// one, because it is a program or the configuration has a key.
func (w *Wallet) bearer(s Site) *bearer {
	if w.store == nil || s.URL == "" || s.Keyed {
		return nil
	}
	at, err := url.Parse(s.URL)
	if err != nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	have := w.bearers[s.Server]
	if have == nil || have.url.String() != at.String() {
		have = &bearer{
			server: s.Server,
			url:    at,
			store:  w.store,
			client: w.client,
			turn:   make(chan struct{}, 1),
		}
		w.bearers[s.Server] = have
	}
	return have
}

// known returns the bearer of a server; nil: there was no request to it yet.
func (w *Wallet) known(server string) *bearer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bearers[server]
}

// Client returns the client for requests to a server. The error of a request may be a
// *RequiredError.
func (w *Wallet) Client(s Site) *http.Client {
	b := w.bearer(s)
	if b == nil {
		return w.client
	}
	c := *w.client
	c.Transport = b
	return &c
}

// Login logs in to a server: show receives the address that a person is to open in a browser, and
// must not block. Login blocks until the browser returns, five minutes at most, and stores the
// login.
func (w *Wallet) Login(ctx context.Context, s Site, show func(address string)) error {
	b, err := w.account(s)
	if err != nil {
		return err
	}
	return b.login(ctx, s.Config, show)
}

// Logout revokes the login to a server, and forgets it. unrevoked is the reason why the
// authorization server still honours it; it is forgotten all the same.
func (w *Wallet) Logout(ctx context.Context, s Site) (unrevoked, err error) {
	b, err := w.account(s)
	if err != nil {
		return nil, err
	}
	return b.logout(ctx)
}

// account returns the bearer of a server that a person logs in to or out of. The error is the
// reason if that is impossible.
func (w *Wallet) account(s Site) (*bearer, error) {
	b := w.bearer(s)
	switch {
	case s.URL == "":
		return nil, errors.New("it is a program, which gets its keys through its environment")
	case s.Keyed:
		return nil, errors.New(
			"the configuration names a key for it (headers, Authorization), which is used in the place of a login; remove it first",
		)
	case b == nil:
		return nil, errors.New("there is nowhere to keep a login")
	case b.url.Scheme != "https" && !isLoopback(b.url.Hostname()):
		return nil, errors.New("its address is not https, so that anybody on the way could read the login")
	}
	return b, nil
}

// Standing reports whether there is a login to a server, and the login that the server has
// required last; nil: none.
func (w *Wallet) Standing(server string) (loggedIn bool, wants *RequiredError) {
	b := w.known(server)
	if b == nil {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held.Access != "", b.wants
}

// Gained reports whether another process has made a new login to a server that requires one.
func (w *Wallet) Gained(ctx context.Context, server string) bool {
	b := w.known(server)
	if b == nil {
		return false
	}
	kept, err := b.store.Load(ctx, server)
	if err != nil {
		return false // the next start reports the error
	}
	l := parseRecord(kept, b.url.String())
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.Access == "" || l.Access == b.held.Access {
		return false
	}
	b.loaded = false
	return true
}

// Forget drops the cached state of a server. Its record in the store stays.
func (w *Wallet) Forget(server string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.bearers, server)
}
