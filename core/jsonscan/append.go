package jsonscan

import (
	"bytes"
	"encoding/json"
)

// appender collects the output of a json.Encoder.
type appender []byte

func (a *appender) Write(b []byte) (int, error) {
	*a = append(*a, b...)
	return len(b), nil
}

// Append appends v in one line as encoding/json writes it, with <, > and & as they are.
// After an error dst is returned as it was.
func Append(dst []byte, v any) ([]byte, error) {
	out := appender(dst)
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	return bytes.TrimSuffix(out, []byte("\n")), nil
}

// Object is a JSON object whose members keep their order when it is encoded.
type Object []Member

// Member is a member of an Object.
type Member = struct {
	Name  string
	Value any
}

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = Append(out, m.Name) // a string always can be
		var err error
		if out, err = Append(append(out, ':'), m.Value); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}
