package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire/streamable"
)

// agree finds a version that both support (Basic, Lifecycle). Nearly every server knows the last
// one with a handshake, on which the server can send requests and notifications on its own; so
// that is offered first, unless Hello has another one. A refusal decides what is offered next.
func (p *Peer) agree(ctx context.Context) error {
	var why error
	weak := true // why says nothing of use to a person
	offered := map[string]int{}
	for next := cmp.Or(p.says.Version, proto.Legacy); next != ""; {
		err := p.offer(ctx, next)
		if err == nil || p.Over() || ctx.Err() != nil {
			return err
		}
		if weak {
			refused, ok := errors.AsType[*jrpc2.Error](err)
			why, weak = err, next == proto.Modern || ok && refused.Code == jrpc2.MethodNotFound
		}
		offered[next]++
		next = nextOffer(next, err, offered)
	}
	return why
}

// offer begins the connection with a version.
func (p *Peer) offer(ctx context.Context, version string) error {
	switch version {
	case proto.Modern:
		return p.probe(ctx)
	case proto.Numbered:
		return p.initialize(ctx, version)
	default:
		return p.initialize(ctx, `"`+version+`"`)
	}
}

// probeFor limits the time until a server answers a request of the modern version, before it is
// offered another: some do not answer unknown requests.
const probeFor = 10 * time.Second

// probe checks whether the server speaks the modern version.
func (p *Peer) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	return p.discover(ctx)
}

// nextOffer returns the version to offer after a server has refused one; "": none. What the refusal
// names counts first, even if it is the version itself: the server may have disliked something else.
func nextOffer(refused string, err error, offered map[string]int) string {
	named := namedVersions(refused, err)
	for _, version := range proto.Versions() {
		if slices.Contains(named, version) && offered[version] < 2 {
			return version
		}
	}
	for _, version := range usualOffers(refused, err) {
		if offered[version] == 0 {
			return version
		}
	}
	return ""
}

// WantsNumber reports whether a server that refuses a version is to be offered the number that the protocol had
// for a version before dates.
func WantsNumber(refused string, err error) bool {
	return nextOffer(refused, err, map[string]int{refused: 1}) == proto.Numbered
}

// usualOffers returns the versions to try after a refusal that names none.
func usualOffers(refused string, err error) []string {
	if refused == proto.Modern {
		return []string{proto.Legacy}
	}
	if other, ok := errors.AsType[*versionError](err); ok {
		if other.names() { // an answer without a version is none to initialize
			return nil
		}
		return []string{proto.Modern}
	}
	e, ok := errors.AsType[*jrpc2.Error](err)
	if !ok || e.Code == streamable.CodeUnreached {
		return nil
	}
	switch e.Code {
	case proto.CodeUnsupportedVersion, proto.CodeHeaderMismatch, jrpc2.MethodNotFound: // the modern version has no handshake
		return []string{proto.Modern}
	case jrpc2.InvalidParams: // the number of the oldest, or the members that the modern version has in every request
		return []string{proto.Numbered, proto.Modern}
	}
	return []string{proto.Numbered}
}

// versionError means that a server speaks other versions than we do.
type versionError struct{ versions []string }

func (e *versionError) Error() string {
	if !e.names() {
		return "the server has answered the beginning of the connection without a version of the protocol"
	}
	return fmt.Sprintf("the server speaks version %.200q of the protocol, which we do not", e.versions)
}

// names reports whether the server has named any version.
func (e *versionError) names() bool {
	return slices.ContainsFunc(e.versions, func(v string) bool { return v != "" && v != "null" })
}

// namedVersions returns the versions that a refusal of one names as those that the server speaks: in
// its data (-32022, and -32602 of the older versions), or as dates in its text.
func namedVersions(refused string, err error) []string {
	if other, ok := errors.AsType[*versionError](err); ok {
		return other.versions
	}
	e, ok := errors.AsType[*jrpc2.Error](err)
	if !ok {
		return nil
	}
	var data struct {
		Supported []string `json:"supported"`
	}
	if json.Unmarshal(e.Data, &data) == nil && len(data.Supported) > 0 {
		return data.Supported
	}
	return slices.DeleteFunc(date.FindAllString(e.Message, -1), func(v string) bool { return v == refused })
}

var date = regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)
