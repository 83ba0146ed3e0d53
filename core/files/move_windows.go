package files

import "os"

// link gives the file its new name beside the old one.
func (m move) link() error { return m.between((*os.Root).Link) }

// rename gives the file its new name.
func (m move) rename() error { return m.between((*os.Root).Rename) }

// between calls do with the way to both names from their root. A link that appears on
// the way is followed as far as it stays in the root, for Windows names no file from an
// open folder in Go.
func (m move) between(do func(top *os.Root, from, to string) error) error {
	top, err := m.p.Root.Open()
	if err != nil {
		return err
	}
	from, _ := Within(m.p.Root.Real, m.p.Real)
	to, _ := Within(m.p.Root.Real, m.q.Real)
	return do(top, from, to)
}
