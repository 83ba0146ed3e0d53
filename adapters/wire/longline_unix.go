//go:build unix

package wire

import "golang.org/x/sys/unix"

// newPiece returns memory outside of Go's heap, for freePiece; without any left, memory of the heap.
func newPiece() *[pieceBytes]byte {
	b, err := unix.Mmap(-1, 0, pieceBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return new([pieceBytes]byte)
	}
	return (*[pieceBytes]byte)(b)
}

// freePiece gives the memory of a piece back to the system. Nothing may refer to it any more.
func freePiece(p *[pieceBytes]byte) {
	_ = unix.Munmap(p[:]) // it knows those that it made, and leaves those of the heap
}
