// Package permit decides what a client over HTTP may send, by the rights of its token.
//
// # What holds
//
//   - Every request passes here before any server of ours reads it: our agent, the aggregate of all
//     servers, and single servers.
//   - What has no row in the tables (needs.go) requires all rights, and so does a message that could be
//     read in two ways, and a batch.
//   - A client that may not answer is asked nothing. Its declared capabilities lose all by which it
//     could be asked: elicitation and sampling. What looks like an answer is refused.
//   - A client with all rights is not looked at: its messages pass as they are.
//
// # Why
//
// Rights are checked on the message and not where it is carried out, because three servers read
// messages, and each of them would need its own check. The tables know names alone: which sessions a
// client reaches, and in which of them it may answer or stop a turn, is decided by the adapter.
package permit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/core/access"
)

// Handler passes permitted requests to next, which serves our agent, alone or with servers. holder
// identifies the sender of a request, which must be admitted, with a limited body.
func Handler(holder func(*http.Request) access.Holder, next http.Handler) http.Handler {
	return &handler{holder: holder, next: next}
}

// Server is Handler for a single server: every request requires the right act.
func Server(holder func(*http.Request) access.Holder, next http.Handler) http.Handler {
	return &handler{holder: holder, next: next, server: true}
}

type handler struct {
	holder func(*http.Request) access.Holder
	next   http.Handler
	server bool
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	of := h.holder(r)
	if of.Rights.Has(access.All) {
		h.next.ServeHTTP(w, r)
		return
	}
	if h.server && !of.Rights.Has(access.Act) {
		http.Error(w, missing(of, r.URL.Path, oneOf(access.Act)).Error(), http.StatusForbidden)
		return
	}
	if r.Method == http.MethodPost && !h.post(w, r, of) {
		return
	}
	h.next.ServeHTTP(w, r)
}

// post reports whether the message of a request may pass. It prepares the request, or answers it.
func (h *handler) post(w http.ResponseWriter, r *http.Request, of access.Holder) bool {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		status := http.StatusBadRequest
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, fmt.Sprintf("read the body: %v", err), status)
		return false
	}
	m, err := wire.Parse(body)
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		err = jrpc2.Errorf(jrpc2.InvalidRequest, "a batch needs a token with all rights; send the messages one by one")
	}
	if err != nil {
		streamable.Refuse(w, http.StatusBadRequest, m.ID, err)
		return false
	}
	if err := h.check(of, m); err != nil {
		if m.Kind() == wire.Request {
			streamable.Refuse(w, http.StatusOK, m.ID, err)
		} else {
			http.Error(w, err.Error(), http.StatusForbidden)
		}
		return false
	}
	if !of.Rights.Has(access.Answer) {
		body = unasked(body, m)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return true
}

// check returns an error if a holder lacks a right that the message requires.
func (h *handler) check(of access.Holder, m wire.Message) error {
	what, needs := needsOf(m)
	for _, need := range needs {
		if h.server && !need.all && need.anyOf != access.Answer {
			continue // the right act suffices, which the holder has
		}
		if !need.Met(of.Rights) {
			return missing(of, what, need)
		}
	}
	return nil
}

// missing is the error for a holder without the rights that something requires.
func missing(of access.Holder, what string, need Need) error {
	if len(what) > maxShown {
		what = strings.ToValidUTF8(what[:maxShown], "") + "…"
	}
	return jrpc2.Errorf(
		proto.CodeForbidden,
		"%s needs the right %v, which the token %q does not have; whoever runs dragoman can create one that has it: "+
			"dragoman token create NAME --rights %v",
		what, need, of.Name, of.Rights|need.rights(),
	)
}

// maxShown limits the bytes of a client's text in an error.
const maxShown = 100
