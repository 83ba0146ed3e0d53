package wire

// newPiece returns memory of Go's heap.
func newPiece() *[pieceBytes]byte { return new([pieceBytes]byte) }

// freePiece does nothing: the piece is collected.
func freePiece(*[pieceBytes]byte) {}
