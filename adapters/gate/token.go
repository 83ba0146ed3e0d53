package gate

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"dragoman/core/access"
)

// ErrNoToken refuses a request without a bearer token, or with one that nobody has.
var ErrNoToken = errors.New("a bearer token is needed; whoever started dragoman can show or create one")

// bearer returns the bearer token of a request. A request with two has none.
func bearer(r *http.Request) (token string, ok bool) {
	all := r.Header.Values("Authorization")
	if len(all) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(all[0], " ")
	token = strings.TrimSpace(token)
	return token, token != "" && strings.EqualFold(scheme, "Bearer")
}

// admit finds the holder of a request.
func (g *Gate) admit(r *http.Request) (token string, h access.Holder, err error) {
	if g.opts.Admit == nil {
		return "", g.opts.Everybody, nil
	}
	token, ok := bearer(r)
	if !ok {
		return "", h, ErrNoToken
	}
	h, err = g.opts.Admit(token)
	return token, h, err
}

// Token is the checksum of a bearer token.
type Token [sha256.Size]byte

// NewToken returns the checksum of a token.
func NewToken(token string) Token { return sha256.Sum256([]byte(token)) }

// Bears reports whether a request has the token, in a time that does not depend on the token.
func (t Token) Bears(r *http.Request) bool {
	token, ok := bearer(r)
	sum := NewToken(token)
	return subtle.ConstantTimeCompare(sum[:], t[:]) == 1 && ok
}

// checkEvery is the interval in which the tokens of open requests are checked again.
const checkEvery = time.Second

// errDismissed ends the requests of a token that is not admitted any more.
var errDismissed = errors.New("the token is not valid any more")

// visits are the open requests of tokens. The zero value has none.
type visits struct {
	mu  sync.Mutex // guards the field below
	all map[*visit]struct{}
}

type visit struct {
	token string
	end   context.CancelCauseFunc
}

// enter adds a request, whose context ends when its token is dismissed. leave must follow.
func (v *visits) enter(ctx context.Context, token string) (_ context.Context, leave func()) {
	ctx, end := context.WithCancelCause(ctx)
	one := &visit{token, end}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = map[*visit]struct{}{}
	}
	v.all[one] = struct{}{}
	return ctx, func() {
		v.mu.Lock()
		delete(v.all, one)
		v.mu.Unlock()
		end(nil)
	}
}

// byToken lists the open requests.
func (v *visits) byToken() map[string][]*visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := map[string][]*visit{}
	for one := range v.all {
		list[one.token] = append(list[one.token], one)
	}
	return list
}

// dismiss ends the open requests of tokens that are not admitted any more, until ctx ends.
func (g *Gate) dismiss(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for token, open := range g.visits.byToken() {
			if _, err := g.opts.Admit(token); err == nil {
				continue
			}
			for _, one := range open {
				one.end(errDismissed)
			}
		}
	}
}
