package install

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/cmd/internal/integrity"
)

// entry is an entry of an archive in a test.
type entry struct {
	name, text string
	mode       fs.FileMode
	kind       byte // of tar; 0: a file
	link       string
}

func tarOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm()), Size: int64(len(e.text)), Typeflag: e.kind, Linkname: e.link}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.mode&fs.ModeSetuid != 0 {
			h.Mode |= 0o4000
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(e.text + e.link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bz2 is a tar.bz2 with the program bin/agent, which prints "bz2".
var bz2 = []byte("\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x5a\x69\xd1\xd5\x00\x00\x72\xdb\x80\xca\x90\xe8\x00\xde\x80\x00\x80\x7a\xe1\x9e\x10\x08\x08\x20\x00\x74\x1a\x4d\x43\x26\x8d\x0d\x01\xb5\x01\x9a\x82\x4a\x80\xd0\x03\x46\x80\x32\x34\x8c\x2e\x25\x42\x06\x4e\x84\x23\x17\xb6\xa1\xb6\xd6\xc4\x08\x90\x1b\xd4\xc3\xf3\x8c\x1d\x23\xab\x13\x18\x08\x48\xc8\x1a\xef\x08\xe4\xc4\x0d\x71\x24\x90\xe1\xea\x7d\xe5\x27\x31\x40\xee\x9b\x72\xc9\xea\xf8\x91\x10\x1f\x8b\xb9\x22\x9c\x28\x48\x2d\x34\xe8\xea\x80")

// opened unpacks an archive, and returns the content of the folder.
func opened(t *testing.T, data []byte, address string, most limits) (string, error) {
	t.Helper()
	outer := t.TempDir()
	dir := filepath.Join(outer, "in")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(outer, "archive")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = unpack(f, int64(len(data)), address, "agent", dir, most)
	var all []string
	if walk := filepath.WalkDir(outer, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || p == path {
			return err
		}
		info, err := d.Info()
		rel, _ := filepath.Rel(dir, p)
		all = append(all, fmt.Sprintf("%s %v %d", filepath.ToSlash(rel), info.Mode(), info.Size()))
		return err
	}); walk != nil {
		t.Fatal(walk)
	}
	slices.Sort(all)
	for _, line := range all {
		if strings.HasPrefix(line, "..") {
			t.Errorf("outside: %s", line)
		}
	}
	return strings.Join(all, "\n"), err
}

// Archives of every form are unpacked, for this user alone, and without bits that give rights.
func TestUnpack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("modes are those of Unix")
		return
	}
	files := []entry{
		{name: "./", mode: fs.ModeDir | 0o755, kind: tar.TypeDir},
		{name: "bin/", mode: fs.ModeDir | 0o755, kind: tar.TypeDir},
		{name: "bin/agent", text: "#!", mode: 0o755 | fs.ModeSetuid},
		{name: "./lib/a.txt", text: "text", mode: 0o666},
		{name: "bin/link", mode: fs.ModeSymlink | 0o777, kind: tar.TypeSymlink, link: "../lib/a.txt"},
	}
	const want = "bin/agent -rwx------ 2\nbin/link Lrwxrwxrwx 12\nlib/a.txt -rw------- 4"
	for address, data := range map[string][]byte{"https://x/a.tar.gz?x=1": tarOf(t, files...), "https://x/A.TGZ": tarOf(t, files...), "https://x/a.zip": zipOf(t, files...)} {
		if got, err := opened(t, data, address, usual); err != nil || got != want {
			t.Errorf("%s: %v\n%s", address, err, got)
		}
	}
	hard := tarOf(t, entry{name: "a", text: "x", mode: 0o755}, entry{name: "b", kind: tar.TypeLink, link: "a"}, entry{kind: tar.TypeXGlobalHeader, name: "pax"})
	if got, err := opened(t, hard, "https://x/a.tgz", usual); err != nil || got != "a -rwx------ 1\nb -rwx------ 1" {
		t.Errorf("a hard link: %v\n%s", err, got)
	}
	if got, err := opened(t, bz2, "https://x/a.tbz2", usual); err != nil || !strings.HasPrefix(got, "bin/agent -rwx------") {
		t.Errorf("bzip2: %v\n%s", err, got)
	}
	if got, err := opened(t, []byte("\x7fELF"), "https://x/v1/agent-linux", usual); err != nil || got != "agent -rwx------ 4" {
		t.Errorf("a program: %v\n%s", err, got)
	}
	if _, err := opened(t, nil, "https://x/a.tar.xz", usual); err == nil || !strings.Contains(err.Error(), "in a form that is not unpacked here") {
		t.Errorf("%v", err)
	}
}

// Nothing of an archive gets outside of its folder, or is taken for something else on some system.
func TestHostileArchives(t *testing.T) {
	file := func(name string) []entry { return []entry{{name: name, text: "evil", mode: 0o644}} }
	link := func(name, to string) entry {
		return entry{name: name, mode: fs.ModeSymlink | 0o777, kind: tar.TypeSymlink, link: to}
	}
	small := limits{download: 1 << 20, unpacked: 1 << 16, files: 20, ratio: 100, free: 1 << 12}
	var many []entry
	for i := range 30 {
		many = append(many, entry{name: fmt.Sprintf("d/%d", i), text: "x", mode: 0o644})
	}
	for _, c := range []struct {
		name    string
		entries []entry
		want    string
		only    string // the form of archive; "": both
	}{
		{"up", file("../evil"), "leads out of the folder", ""},
		{"deep up", file("a/b/../../../evil"), "leads out of the folder", ""},
		{"absolute", file("/etc/evil"), "is absolute", ""},
		{"a drive", file("C:/evil"), "has characters that a file name cannot have", ""},
		{"a stream", file("a.txt:evil"), "has characters that a file name cannot have", ""},
		{"backslashes", file(`..\..\evil`), "has characters that a file name cannot have", ""},
		{"a line break", file("a\nb"), "has characters that a file name cannot have", ""},
		{"an escape", file("a\x1b[2J"), "has characters that a file name cannot have", ""},
		{"a device of Windows", file("lib/NUL.txt"), "means something else on Windows", ""},
		{"a short device", file("com1"), "means something else on Windows", ""},
		{"a dot", file("evil."), "means something else on Windows", ""},
		{"a blank", file("evil "), "means something else on Windows", ""},
		{"a long name", file(strings.Repeat("x", 300)), "is too long", ""},
		{"twice", append(file("a"), file("./a")...), "is there twice", ""},
		{"case", append(file("Agent"), file("agent")...), "are the same name on some systems", ""},
		{"case of a folder", append(file("Bin/a"), file("bin/b")...), "are the same name on some systems", ""},
		{"below a file", append(file("a"), file("a/b")...), "is there twice", ""},
		{"a link outside", []entry{link("a", "../../etc/passwd")}, "leads out of the folder", ""},
		{"an absolute link", []entry{link("a", "/etc/passwd")}, "leads out of the folder", ""},
		{"through a link", append([]entry{link("a", ".")}, file("a/evil")...), "is there twice", ""},
		{"links over links", []entry{link("a", "b/../.."), link("b", "c"), {name: "c/d/e", text: "x", mode: 0o644}}, "leads out of the folder", ""},
		{"a link to nothing", []entry{link("a", "gone")}, "leads nowhere inside", ""},
		{"a hard link outside", []entry{{name: "a", kind: tar.TypeLink, link: "../../etc/passwd"}}, "leads out of the folder", "tar"},
		{"a hard link to a link", []entry{link("a", "b"), {name: "c", kind: tar.TypeLink, link: "a"}}, "is to no file of the archive", "tar"},
		{"a device", []entry{{name: "null", kind: tar.TypeChar}}, "neither a file nor a folder nor a link", "tar"},
		{"a pipe", []entry{{name: "pipe", kind: tar.TypeFifo}}, "neither a file nor a folder nor a link", "tar"},
		{"many", many, "more than 20 files", ""},
		{"zeros", []entry{{name: "bomb", text: strings.Repeat("\x00", 1<<15), mode: 0o644}}, "more than 100 times its size", ""},
		{"large", []entry{{name: "a", text: noise(1 << 15), mode: 0o644}, {name: "b", text: noise(1<<15 + 1), mode: 0o644}}, "unpacks to more than 0 MiB", ""},
	} {
		forms := map[string][]byte{}
		if c.only != "zip" {
			forms["a.tar.gz"] = tarOf(t, c.entries...)
		}
		if c.only != "tar" {
			forms["a.zip"] = zipOf(t, c.entries...)
		}
		for address, data := range forms {
			if got, err := opened(t, data, "https://x/"+address, small); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s in %s: %v, want %s\n%s", c.name, address, err, c.want, got)
			}
		}
	}
}

// An archive of one MiB that unpacks to a gigabyte is given up long before.
func TestArchiveOfGigabytes(t *testing.T) {
	part := func(data []byte) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	var head bytes.Buffer
	if err := tar.NewWriter(&head).WriteHeader(&tar.Header{Name: "bomb", Mode: 0o644, Size: 1 << 30, Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	data := append(part(head.Bytes()), bytes.Repeat(part(make([]byte, 1<<20)), 1<<10)...)
	most := usual
	most.free, most.ratio = 1<<20, 5
	if got, err := opened(t, data, "https://x/a.tar.gz", most); err == nil || !strings.Contains(err.Error(), "more than 5 times its size") || len(data) > 2<<20 {
		t.Errorf("%d bytes: %v\n%s", len(data), err, got)
	}
}

// noise returns a text that is not compressed.
func noise(n int) string {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return string(b)
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a/b", "../x", "/x", "a//./b", "con", "a\\b", "x:y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := clean(s)
		if err == nil && name != "" && (!filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\\x00")) {
			t.Errorf("%q became %q", s, name)
		}
	})
}

func TestSatisfies(t *testing.T) {
	for _, c := range []struct {
		version, in string
		fits, known bool
	}{
		{"v22.1.0", ">=22", true, true},
		{"v20.20.2", ">=22", false, true},
		{"20.19.1", "^20.19.0 || >=22.12.0", true, true},
		{"21.0.0", "^20.19.0 || >=22.12.0", false, true},
		{"22.11.0", "^20.19.0 || >=22.12.0", false, true},
		{"18.3.0", ">= 18.0.0 < 19", true, true},
		{"19.0.0", ">=18 <19", false, true},
		{"20.1.0", "20.x", true, true},
		{"21.1.0", "20", false, true},
		{"20.9.9", "~20.9", true, true},
		{"20.10.0", "~20.9", false, true},
		{"20.1.0", "18 - 20", true, true},
		{"21.0.0", "18 - 20", false, true},
		{"20.1.0", "*", true, true},
		{"20.1.0", "", true, true},
		{"20.0.0", ">20", false, true},
		{"0.2.5", "^0.2.3", true, true},
		{"0.3.0", "^0.2.3", false, true},
		{"20.0.0", "latest", false, false},
		{"twenty", ">=1", false, false},
	} {
		if fits, known := satisfies(c.version, c.in); fits != c.fits || known != c.known {
			t.Errorf("%s in %q: %v, %v", c.version, c.in, fits, known)
		}
	}
}

// What was not installed to its end is removed, and a retired version when nothing of it runs. Everything
// else stays.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	folder := func(name string, m *integrity.Manifest) integrity.Folder {
		t.Helper()
		f := integrity.Folder{Path: filepath.Join(dir, "demo", name)}
		if err := os.MkdirAll(filepath.Join(f.Path, "lib"), 0o700); err != nil {
			t.Fatal(err)
		}
		if m != nil {
			if err := f.Keep(*m); err != nil {
				t.Fatal(err)
			}
		}
		return f
	}
	folder("broken", nil)
	folder("used", &integrity.Manifest{ID: "demo"})
	folder("old", &integrity.Manifest{ID: "demo", Retired: time.Unix(1, 0)})
	odd := folder("odd", nil)
	for _, path := range []string{odd.Path + ".json", filepath.Join(dir, "demo", ".download-1")} {
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if used, err := Sweep(dir); err != nil || len(used) > 0 {
		t.Errorf("%v, %v", used, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "demo", "*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if err != nil || strings.Join(left, " ") != "odd odd.json used used.json" {
		t.Errorf("%v, %v", left, err)
	}
	if used, err := Sweep(filepath.Join(dir, "nowhere")); err != nil || len(used) > 0 {
		t.Errorf("%v, %v", used, err)
	}
}
