package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/creachadair/jrpc2"

	"dragoman/core/jsonscan"
)

// AppendRaw appends a JSON text as it is, but with blanks for line ends between its tokens, so
// that it fits into a line. An empty text becomes null. The text must be valid JSON, whose strings
// contain no raw line ends.
func AppendRaw(dst []byte, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return append(dst, "null"...)
	}
	start := len(dst)
	dst = append(dst, raw...)
	flatten(dst[start:])
	return dst
}

// flatten blanks out the line ends in b.
func flatten(b []byte) {
	for _, end := range []byte("\n\r") {
		for rest := b; ; {
			i := bytes.IndexByte(rest, end)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
}

// AppendJSON appends v as encoding/json writes it, but without escapes for HTML. A
// json.RawMessage is checked and taken as it is; nil and an empty json.RawMessage are
// null; a [ValidJSON] is taken without a check. After an error dst is returned as it was.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case json.RawMessage:
		if len(v) > 0 && !jsonscan.Valid(v) {
			return dst, errors.New("encode: not valid JSON")
		}
		return AppendRaw(dst, v), nil
	case ValidJSON:
		return AppendRaw(dst, json.RawMessage(v)), nil
	}
	return jsonscan.Append(dst, v)
}

// appendHead begins an envelope, up to its first member.
func appendHead(dst []byte, bare bool) []byte {
	if bare {
		return append(dst, '{')
	}
	return append(dst, `{"jsonrpc":"2.0",`...)
}

// appendMethod appends the members method and, unless params is nil, params, and ends the
// envelope.
func appendMethod(dst []byte, method string, params any) ([]byte, error) {
	dst = append(dst, `"method":`...)
	dst = jsonscan.AppendString(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		var err error
		if dst, err = AppendJSON(dst, params); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// AppendNotification appends a whole notification, without a line feed; nil params are
// left out. After an error dst is returned as it was.
func AppendNotification(dst []byte, method string, params any) ([]byte, error) {
	msg, err := appendMethod(appendHead(dst, false), method, params)
	if err != nil {
		return dst, fmt.Errorf("notification %s: %w", method, err)
	}
	return msg, nil
}

// AppendAnswer appends a whole answer, without a line feed: with err's error object, as
// [Call.Reply] sends it, if err is not nil, else with result. A nil id is null. A result
// that cannot be encoded becomes an error.
func AppendAnswer(dst []byte, id json.RawMessage, result any, err error) []byte {
	return appendAnswer(dst, false, id, result, err)
}

func appendAnswer(dst []byte, bare bool, id json.RawMessage, result any, err error) []byte {
	dst = append(appendHead(dst, bare), `"id":`...)
	dst = append(AppendRaw(dst, id), ',')
	if err == nil {
		mark := len(dst)
		if dst, err = AppendJSON(append(dst, `"result":`...), result); err == nil {
			return append(dst, '}')
		}
		dst, err = dst[:mark], cannotEncode(err)
	}
	return append(appendError(append(dst, `"error":`...), err), '}')
}

func cannotEncode(err error) error {
	return jrpc2.Errorf(jrpc2.InternalError, "the result cannot be encoded: %s", strings.TrimPrefix(err.Error(), "json: "))
}

// appendError appends the error object for err: a *jrpc2.Error anywhere in its chain as
// it is, with its data; what carries a code, and the end of a context, with the code of
// jrpc2.ErrorCode; anything else as an internal error.
func appendError(dst []byte, err error) []byte {
	e := toError(err)
	if e.Message == "" {
		e.Message = e.Code.String()
	}
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = jsonscan.AppendString(dst, e.Message)
	if len(e.Data) > 0 && jsonscan.Valid(e.Data) {
		dst = AppendRaw(append(dst, `,"data":`...), e.Data)
	}
	return append(dst, '}')
}

func toError(err error) jrpc2.Error {
	if e, ok := errors.AsType[*jrpc2.Error](err); ok && e != nil {
		return *e
	}
	if e, ok := errors.AsType[jrpc2.Error](err); ok {
		return e
	}
	code := jrpc2.ErrorCode(err)
	if code == jrpc2.SystemError {
		code = jrpc2.InternalError // what no one gave a code
	}
	return jrpc2.Error{Code: code, Message: err.Error()}
}
