// Package cursor encodes positions in a log as text, which logs and clients hold.
package cursor

import (
	"fmt"
	"strconv"
	"strings"

	"dragoman/core"
)

// Format encodes a position. The text is opaque to clients.
func Format(p core.Pos) string {
	b := strconv.AppendUint(make([]byte, 0, 24), p.Epoch, 36)
	b = strconv.AppendUint(append(b, '-'), p.Seq, 36)
	return string(strconv.AppendUint(append(b, '-'), p.Off, 36))
}

// Parse decodes what Format encoded. The empty text is the beginning.
func Parse(s string) (core.Pos, error) {
	if s == "" {
		return core.Pos{}, nil
	}
	var n [3]uint64
	parts := strings.Split(s, "-")
	if len(parts) != len(n) {
		return core.Pos{}, fmt.Errorf("parse cursor %q: not one that this gateway gave out", s)
	}
	for i, part := range parts {
		v, err := strconv.ParseUint(part, 36, 64)
		if err != nil {
			return core.Pos{}, fmt.Errorf("parse cursor %q: not one that this gateway gave out", s)
		}
		n[i] = v
	}
	return core.Pos{Epoch: n[0], Seq: n[1], Off: n[2]}, nil
}
