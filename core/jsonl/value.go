package jsonl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxBody is the size of the longest record that is kept in its line; the body of a
// longer one has a file of its own.
const maxBody = 256 << 10

// The member that names such a file. It replaces the event, which is always the last
// member.
const (
	valueMember = `,"f":"`
	valueLen    = len(valueMember) + 2*sha256.Size + len(`"}`)
)

// moveOut writes the body of the record in dst[start:] to a file, and replaces it by
// the file's name. The file is durable then.
func moveOut(dst []byte, start int, d disk, dir string) ([]byte, error) {
	i := bytes.Index(dst[start:], []byte(`,"v`)) // v or v~; no string before it can contain a bare quote
	if i < 0 {
		return nil, errors.New("the record is too long")
	}
	i += start
	body := dst[i:] // not copied: it may be large
	body[0] = '{'
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])
	path := filepath.Join(dir, digest)
	if fi, err := os.Lstat(path); err != nil || fi.Size() != int64(len(body)) {
		if err := d.makeDir(dir); err != nil {
			return nil, err
		}
		if err := d.replace(path, body, true); err != nil {
			return nil, err
		}
		if err := d.syncDir(dir); err != nil {
			return nil, err
		}
	}
	dst = append(append(dst[:i], valueMember...), digest...)
	return append(dst, `"}`...), nil
}

// valueOf returns the name of the file with the body of a record, "" if the body is in
// its line.
func valueOf(object []byte) string {
	i := len(object) - valueLen
	if i < 0 || string(object[i:i+len(valueMember)]) != valueMember {
		return ""
	}
	digest := object[i+len(valueMember) : len(object)-2]
	for _, c := range digest {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
	}
	return string(digest)
}

// withValue is the inverse of moveOut.
func withValue(object []byte, dir, digest string) ([]byte, error) {
	f, err := openFile(filepath.Join(dir, digest), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	at := len(object) - valueLen
	size := at + int(info.Size())
	whole := append(make([]byte, 0, size), object[:at]...)[:size] // one allocation: it may be large
	body := whole[at:]
	if _, err := io.ReadFull(f, body); err != nil && !errors.Is(err, io.EOF) &&
		!errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != digest {
		return nil, &fs.PathError{
			Op:   "read",
			Path: f.Name(),
			Err:  fmt.Errorf("its content has changed: %w", errBad),
		}
	}
	body[0] = ','
	return whole, nil
}
