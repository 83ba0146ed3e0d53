package install

import (
	"archive/tar"
	"archive/zip"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"dragoman/core/display"
)

// Limits of an archive.
type limits struct {
	download int64 // bytes of the archive
	unpacked int64 // bytes of all files
	files    int
	ratio    int64 // unpacked bytes for one of the archive, if there are more than free
	free     int64
}

var usual = limits{download: 2 << 30, unpacked: 4 << 30, files: 100_000, ratio: 200, free: 64 << 20}

const maxLink = 4 << 10 // bytes of a symbolic link's target

// The forms of archives.
const (
	formZip = "zip"
	formTar = "tar"
	formRaw = "" // a program
)

// formOf returns the form of an archive by its address.
func formOf(address string) (form, compression string, err error) {
	name := strings.ToLower(path.Base(strings.SplitN(strings.SplitN(address, "?", 2)[0], "#", 2)[0]))
	ends := func(list ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.HasSuffix(name, s) })
	}
	switch {
	case ends(".zip"):
		return formZip, "", nil
	case ends(".tar.gz", ".tgz"):
		return formTar, "gz", nil
	case ends(".tar.bz2", ".tbz2"):
		return formTar, "bz2", nil
	case ends(".tar", ".tar.xz", ".txz", ".tar.zst", ".7z", ".rar", ".dmg", ".pkg", ".msi", ".deb", ".rpm", ".gz", ".bz2", ".xz"):
		return "", "", fmt.Errorf("%s is in a form that is not unpacked here; zip, tar.gz and tar.bz2 are", display.Line(name, 100))
	}
	return formRaw, "", nil
}

// unpack unpacks an archive of a size into an empty folder. A program gets the name in raw.
func unpack(archive *os.File, size int64, address, raw, dir string, most limits) error {
	form, compression, err := formOf(address)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it is only a folder
	u := &unpacker{root: root, dir: dir, limits: most, size: size, have: map[string]kind{}, folded: map[string]string{}}
	switch form {
	case formZip:
		err = u.zip(archive)
	case formTar:
		err = u.tar(archive, compression)
	default:
		err = u.file(raw, archive, true)
	}
	if err == nil {
		err = u.links()
	}
	if err != nil {
		return fmt.Errorf("unpack %s: %w", display.Line(path.Base(address), 100), err)
	}
	return nil
}

// kind says what an entry is.
type kind int

const (
	folder kind = iota + 1
	regular
	link
)

// unpacker writes the entries of an archive into a folder.
type unpacker struct {
	root *os.Root
	dir  string
	limits
	size int64 // of the archive

	done    int64             // bytes written
	have    map[string]kind   // by name
	folded  map[string]string // names, by the form in which systems without case compare them
	pending []symlink         // made when all files are there, so that nothing is written through one
}

type symlink struct{ name, to string }

func (u *unpacker) zip(archive *os.File) error {
	r, err := zip.NewReader(archive, u.size)
	if err != nil {
		return err
	}
	for _, f := range r.File {
		mode := f.Mode()
		switch {
		case mode.IsDir() || strings.HasSuffix(f.Name, "/"):
			err = u.folder(strings.TrimSuffix(f.Name, "/"))
		case mode&fs.ModeSymlink != 0:
			err = within(f, func(r io.Reader) error {
				to, err := io.ReadAll(io.LimitReader(r, maxLink+1))
				if err != nil {
					return err
				}
				return u.link(f.Name, string(to))
			})
		case mode.IsRegular():
			err = within(f, func(r io.Reader) error { return u.file(f.Name, r, mode&0o111 != 0) })
		default:
			err = fmt.Errorf("%s is neither a file nor a folder nor a link", display.Line(f.Name, 100))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// within reads an entry of a zip file. Its end checks the sum of it.
func within(f *zip.File, read func(io.Reader) error) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	return errors.Join(read(r), r.Close())
}

func (u *unpacker) tar(archive io.Reader, compression string) error {
	plain := io.Reader(bzip2.NewReader(archive))
	if compression == "gz" {
		z, err := gzip.NewReader(archive)
		if err != nil {
			return err
		}
		plain = z
	}
	r := tar.NewReader(plain)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(h.Name, "/")
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
		case tar.TypeDir:
			err = u.folder(name)
		case tar.TypeReg:
			err = u.file(name, r, h.Mode&0o111 != 0)
		case tar.TypeSymlink:
			err = u.link(name, h.Linkname)
		case tar.TypeLink:
			err = u.copyOf(name, h.Linkname)
		default:
			err = fmt.Errorf("%s is neither a file nor a folder nor a link", display.Line(h.Name, 100))
		}
		if err != nil {
			return err
		}
	}
}

// reserved are names that are devices on Windows, whatever follows a dot.
var reserved = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)`)
})

// clean returns the name of an entry without what means nothing (./); "": the folder itself. Names that
// lead outside, or that some system takes for something else, are an error.
func clean(name string) (string, error) {
	wrong := func(why string) (string, error) {
		return "", fmt.Errorf("the name %q %s", display.Line(name, 100), why)
	}
	if strings.HasPrefix(name, "/") {
		return wrong("is absolute")
	}
	var parts []string
	for _, part := range strings.Split(name, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			return wrong("leads out of the folder")
		case strings.ContainsAny(part, "\\:*?\"<>|") || strings.ContainsFunc(part, unicode.IsControl):
			return wrong("has characters that a file name cannot have")
		case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") || reserved().MatchString(part):
			return wrong("means something else on Windows")
		case len(part) > 255 || len(parts) >= 100:
			return wrong("is too long")
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "/"), nil
}

// enter notes an entry, and makes the folders above it. A name is there once, also where case does not
// count; a folder may be there again.
func (u *unpacker) enter(name string, is kind) (string, error) {
	name, err := clean(name)
	if err != nil {
		return "", err
	}
	if name == "" {
		if is == folder {
			return "", nil
		}
		return "", errors.New("an entry has no name")
	}
	for i, c := range name {
		if c == '/' {
			if err := u.note(name[:i], folder); err != nil {
				return "", err
			}
		}
	}
	return name, u.note(name, is)
}

func (u *unpacker) note(name string, is kind) error {
	if old, there := u.have[name]; there {
		if old == folder && is == folder {
			return nil
		}
		return fmt.Errorf("%s is there twice", display.Line(name, 100))
	}
	fold := strings.ToLower(strings.ToUpper(name))
	if other, there := u.folded[fold]; there {
		return fmt.Errorf("%s and %s are the same name on some systems", display.Line(other, 100), display.Line(name, 100))
	}
	if len(u.have) >= u.files {
		return fmt.Errorf("it has more than %d files", u.files)
	}
	u.have[name], u.folded[fold] = is, name
	if is == folder {
		return u.root.Mkdir(filepath.FromSlash(name), 0o700)
	}
	return nil
}

func (u *unpacker) folder(name string) error {
	_, err := u.enter(name, folder)
	return err
}

// file writes a file. Of its mode counts whether it is a program.
func (u *unpacker) file(name string, from io.Reader, program bool) error {
	name, err := u.enter(name, regular)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if program {
		mode = 0o700
	}
	f, err := u.root.OpenFile(filepath.FromSlash(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, &counted{from, u})
	return errors.Join(err, f.Close())
}

// counted counts what is unpacked, and ends when it is too much.
type counted struct {
	from io.Reader
	u    *unpacker
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	u := c.u
	u.done += int64(n)
	switch {
	case u.done > u.unpacked:
		return n, fmt.Errorf("it unpacks to more than %d MiB", u.unpacked>>20)
	case u.done > u.free && u.done/max(u.size, 1) > u.ratio:
		return n, fmt.Errorf("it unpacks to more than %d times its size", u.ratio)
	}
	return n, err
}

// link notes a symbolic link that stays inside.
func (u *unpacker) link(name, to string) error {
	name, err := u.enter(name, link)
	if err != nil {
		return err
	}
	inside := path.Join(path.Dir(name), to)
	if to == "" || len(to) > maxLink || path.IsAbs(to) || strings.ContainsAny(to, "\\:\x00") || inside == ".." || strings.HasPrefix(inside, "../") {
		return fmt.Errorf("the link %s leads out of the folder", display.Line(name, 100))
	}
	u.pending = append(u.pending, symlink{name, to})
	return nil
}

// copyOf writes a copy of a file that came before, for a hard link to it.
func (u *unpacker) copyOf(name, of string) error {
	of, err := clean(of)
	if err != nil {
		return err
	}
	if u.have[of] != regular {
		return fmt.Errorf("the hard link %s is to no file of the archive", display.Line(name, 100))
	}
	f, err := u.root.Open(filepath.FromSlash(of))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return u.file(name, f, info.Mode()&0o100 != 0)
}

// links makes the symbolic links, and looks where they lead.
func (u *unpacker) links() error {
	for _, l := range u.pending {
		if err := u.root.Symlink(filepath.FromSlash(l.to), filepath.FromSlash(l.name)); err != nil {
			return err
		}
	}
	for _, l := range u.pending {
		// Through another link it may lead outside. A root follows no such link.
		if _, err := u.root.Stat(filepath.FromSlash(l.name)); err != nil {
			return fmt.Errorf("the link %s leads nowhere inside: %w", display.Line(l.name, 100), err)
		}
	}
	return nil
}
