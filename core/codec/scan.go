package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"dragoman/core/jsonscan"
)

// membersOf iterates over an object of the stored form, of any depth.
func membersOf(b []byte) jsonscan.Members { return jsonscan.MembersOf(b, jsonscan.AnyDepth) }

// elementsOf iterates over an array, like membersOf.
func elementsOf(b []byte) jsonscan.Elements { return jsonscan.ElementsOf(b, jsonscan.AnyDepth) }

// parseUint reads a number that is a JSON integer without sign or exponent.
func parseUint(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || n > (1<<64-1-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// parseTime reads a string with a time.
func parseTime(b []byte) (t time.Time, ok bool) {
	if len(b) < 2 || b[0] != '"' {
		return time.Time{}, false
	}
	if t.UnmarshalText(b[1:len(b)-1]) != nil {
		return time.Time{}, false
	}
	return t.UTC(), true
}

// appendKey begins a member of the object at the end of dst.
func appendKey(dst []byte, key string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(append(dst, '"'), key...)
	return append(dst, '"', ':')
}

// appendStringMember appends a member; none when s is empty.
func appendStringMember(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return jsonscan.AppendString(appendKey(dst, key), s)
}

// appendDataMember appends a member in base64; none when there is no data.
func appendDataMember(dst []byte, key string, data []byte) []byte {
	if len(data) == 0 {
		return dst
	}
	dst = append(appendKey(dst, key), '"')
	return append(base64.StdEncoding.AppendEncode(dst, data), '"')
}

// appendIntMember appends a member; none when n is 0.
func appendIntMember(dst []byte, key string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(appendKey(dst, key), n, 10)
}

// appendTimeMember appends a member; none when t is zero.
func appendTimeMember(dst []byte, key string, t time.Time) []byte {
	if t = storable(t); t.IsZero() {
		return dst
	}
	dst = append(appendKey(dst, key), '"')
	return append(t.AppendFormat(dst, time.RFC3339Nano), '"')
}

// appendRawMember appends JSON of other programs, byte for byte; none when raw is
// empty.
func appendRawMember(dst []byte, key string, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return dst
	}
	oneLine := !jsonscan.IsSpace(raw[0]) && !jsonscan.IsSpace(raw[len(raw)-1]) &&
		bytes.IndexByte(raw, '\n') < 0 &&
		bytes.IndexByte(raw, '\r') < 0
	if oneLine && utf8.Valid(raw) && jsonscan.Valid(raw) {
		return append(appendKey(dst, key), raw...)
	}
	return jsonscan.AppendString(appendKey(dst, key+"~"), string(raw))
}
