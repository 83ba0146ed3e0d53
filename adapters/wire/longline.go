package wire

import "sync"

// longLine is a line that is longer than the buffer of its reader, in pieces. While they are joined
// the line takes twice its size; a buffer that doubles would take up to four times. Those of a line
// of at most keptPieces are used again. Those after keptPieces lie outside of Go's heap, and are
// given back to the system at once: in the heap they would be garbage beside the line, until a
// collection that may come as late as after two more copies of the line.
type longLine struct {
	pieces []*[pieceBytes]byte
	size   int // in bytes
}

const (
	pieceBytes = 256 << 10
	keptPieces = 8
)

// pieces are used again, but never for longer than two collections.
var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// add appends a part of the line.
func (l *longLine) add(part []byte) {
	for len(part) > 0 {
		at := l.size % pieceBytes
		if at == 0 {
			l.pieces = append(l.pieces, l.piece())
		}
		n := copy(l.pieces[len(l.pieces)-1][at:], part)
		part, l.size = part[n:], l.size+n
	}
}

// piece returns the next piece.
func (l *longLine) piece() *[pieceBytes]byte {
	if len(l.pieces) < keptPieces {
		return pieces.Get().(*[pieceBytes]byte) //nolint:forcetypeassert // it has no others
	}
	return newPiece()
}

// first returns the beginning of the line.
func (l *longLine) first() []byte {
	if l.size == 0 {
		return nil
	}
	return l.pieces[0][:min(l.size, pieceBytes)]
}

// joined returns the line in memory of its own.
func (l *longLine) joined() []byte {
	line := make([]byte, 0, l.size)
	for _, p := range l.pieces {
		line = append(line, p[:min(pieceBytes, l.size-len(line))]...)
	}
	return line
}

// release gives up the pieces.
func (l *longLine) release() {
	for i, p := range l.pieces {
		switch {
		case i >= keptPieces:
			freePiece(p)
		case len(l.pieces) <= keptPieces:
			pieces.Put(p)
		}
	}
	l.pieces, l.size = nil, 0
}
