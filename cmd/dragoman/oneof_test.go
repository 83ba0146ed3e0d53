package main

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// singleTask is a task that is hard to do well, so that only the listed packages do it and all
// others use them. what is "PATH.NAME" of an import, "import PATH", or a name that namesOf gives
// to a call.
type singleTask struct {
	what string
	in   []string
	why  string
}

var oneOfEach = []singleTask{
	{
		"os.Rename",
		[]string{"core/datadir", "core/jsonl", "cmd/internal/logs"},
		"datadir.Replace is synced, private and whole. Sessions make each call through a layer that tests let fail; " +
			"a log that is full is put aside",
	},
	{"Root.Rename", []string{"core/files"}, "files.Replace looks again at what it replaces"},
	{"golang.org/x/sys/unix.Flock", []string{"core/datadir"}, "a lock is unlocked before it is closed, and its file must still have its name"},
	{"golang.org/x/sys/windows.LockFileEx", []string{"core/datadir"}, "a lock is unlocked before it is closed"},
	{"os.OpenRoot", []string{"core/files", "core/sandbox", "cmd/internal/install"}, "what is opened in a folder of somebody else's is a regular file inside of it, whatever links say in between; the sandbox puts back what a command has changed; an archive is unpacked into a folder of its own"},
	{"import github.com/bmatcuk/doublestar/v4", []string{"core/tools"}, "ignore files are doublestar's language; whatever else is a pattern is core/glob's, whose cost is bounded"},
	{"path.Match", nil, "core/glob has the patterns, of names and of paths"},
	{"path/filepath.Match", nil, "core/glob has the patterns, of names and of paths"},
	{"signal 0", []string{"core/child", "core/child/childtest"}, "child.Alive knows what a missing permission means, on each system; childtest looks at what child started"},
}

// Each of these tasks has one place: a second way to replace a file, lock one, open a foreign one
// or match a pattern is a second set of mistakes.
func TestOneOfEach(t *testing.T) {
	found := map[string]map[string]string{} // what → folder → where
	roots := map[string]bool{}              // folders that name os.Root, whose methods they may call
	add := func(what string, s source, n ast.Node) {
		if found[what] == nil {
			found[what] = map[string]string{}
		}
		found[what][s.dir] = s.at(n)
	}
	eachFile(t, func(s source) {
		imports := importsOf(s.file)
		for _, path := range imports {
			add("import "+path, s, s.file)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			for _, what := range namesOf(n, imports) {
				roots[s.dir] = roots[s.dir] || what == "os.Root" || what == "os.OpenRoot"
				add(what, s, n)
			}
			return true
		})
	})
	for dir := range found["Root.Rename"] { // other types have methods of that name
		if !roots[dir] {
			delete(found["Root.Rename"], dir)
		}
	}
	for _, o := range oneOfEach {
		for dir, at := range found[o.what] {
			if !slices.Contains(o.in, dir) {
				t.Errorf("%s: %s is left to %s: %s", at, o.what, strings.Join(o.in, " and "), o.why)
			}
		}
		for _, dir := range o.in {
			if found[o.what][dir] == "" {
				t.Errorf("%s does not use %s any more; take it out of the table", dir, o.what)
			}
		}
	}
}

// importsOf returns the paths of a file's imports by their names in the file.
func importsOf(f *ast.File) map[string]string {
	imports := map[string]string{}
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if strings.HasPrefix(name, "v") && strings.Count(path, "/") > 1 { // a major version
			dir := path[:strings.LastIndexByte(path, '/')]
			name = dir[strings.LastIndexByte(dir, '/')+1:]
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = path
	}
	return imports
}

// namesOf returns the names that oneOfEach may have for a node.
func namesOf(n ast.Node, imports map[string]string) (names []string) {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
			return []string{imports[x.Name] + "." + n.Sel.Name}
		}
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || len(n.Args) == 0 {
			return nil
		}
		zero, _ := n.Args[len(n.Args)-1].(*ast.BasicLit)
		x, named := sel.X.(*ast.Ident)
		switch {
		case zero != nil && zero.Value == "0" && (sel.Sel.Name == "Signal" || sel.Sel.Name == "Kill"):
			names = append(names, "signal 0")
		case sel.Sel.Name == "Rename" && len(n.Args) == 2 && !isContext(n.Args[0]) && (!named || imports[x.Name] == ""):
			names = append(names, "Root.Rename")
		}
	}
	return names
}

func isContext(n ast.Expr) bool {
	id, ok := n.(*ast.Ident)
	return ok && id.Name == "ctx"
}
