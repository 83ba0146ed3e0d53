package files

import "os"

// link gives the file its new name in addition to the old one.
func (m move) link() error { return m.between((*os.Root).Link) }

// rename gives the file its new name.
func (m move) rename() error { return m.between((*os.Root).Rename) }

// between calls do with both names relative to their root. A link that appears on the way
// is followed within the root, because Go cannot open files relative to a folder on
// Windows.
func (m move) between(do func(top *os.Root, from, to string) error) error {
	top, err := m.p.Root.Open()
	if err != nil {
		return err
	}
	from, _ := Within(m.p.Root.Real, m.p.Real)
	to, _ := Within(m.p.Root.Real, m.q.Real)
	return do(top, from, to)
}
