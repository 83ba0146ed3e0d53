//go:build unix

package files

import "golang.org/x/sys/unix"

// link gives the file its new name in addition to the old one.
func (m move) link() error {
	return m.between(func(from, to int) error { return unix.Linkat(from, m.from.base, to, m.to.base, 0) })
}

// rename gives the file its new name.
func (m move) rename() error {
	return m.between(func(from, to int) error { return unix.Renameat(from, m.from.base, to, m.to.base) })
}

// between calls do with the descriptors of both folders. os.Root names a file from one
// folder only, and follows the links that it meets below it.
func (m move) between(do func(from, to int) error) error {
	from, err := m.from.dir.Open(".")
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := m.to.dir.Open(".")
	if err != nil {
		return err
	}
	defer to.Close()
	return do(int(from.Fd()), int(to.Fd()))
}
