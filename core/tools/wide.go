package tools

import (
	"context"
	"path"

	"dragoman/core/files"
)

// wide calls visit for every entry, nearer ones first: the contents of a folder come
// before those of its subfolders. It stops when visit asks for it. It is made for
// searches in very large trees: of one folder it visits at most w.most entries.
func (w *walk) wide(ctx context.Context, visit func(entry) (into, on bool)) {
	type next struct {
		in, name string // its parent below dir, and its name; "." for dir
		depth    int
		rules    *ignores
	}
	near := opener{top: w.dir}
	defer near.close()
	for todo := []next{{".", ".", 1, w.rules}}; len(todo) > 0 && ctx.Err() == nil; todo = todo[1:] {
		f := todo[0]
		dir, list, err := near.read(f.in, f.name, w.most)
		if err != nil {
			w.closed = true
			continue
		}
		rel := path.Join(f.in, f.name)
		rules := w.rulesOf(dir, rel, list, f.rules)
		on := true
		paths := w.paths(rel)
		for _, d := range list {
			real, below := paths.of(d.Name)
			e := entry{rel: below, name: d.Name, kind: d.Kind, depth: f.depth, in: dir}
			if w.hides(&e, real, paths.last, rules) != 0 {
				continue
			}
			var into bool
			if into, on = visit(e); !on {
				break
			}
			if into && d.Kind.IsDir() {
				todo = append(todo, next{rel, d.Name, f.depth + 1, rules})
			}
		}
		dir.Close()
		if !on {
			return
		}
	}
}

// opener opens folders below top. It holds their parent open, because successive ones
// often have the same parent.
type opener struct {
	top *files.Folder
	at  string
	dir *files.Folder // the folder at; nil: none is open
}

// read opens a folder, which the caller closes, and reads its names.
func (n *opener) read(in, name string, most int) (*files.Folder, []files.Entry, error) {
	if n.dir == nil || n.at != in {
		n.close()
		dir, err := n.top.Under(in)
		if err != nil {
			return nil, nil, err
		}
		n.at, n.dir = in, dir
	}
	dir, err := n.dir.Under(name)
	if err != nil {
		return nil, nil, err
	}
	list, err := dir.Read(most)
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return dir, list, nil
}

func (n *opener) close() {
	if n.dir != nil {
		n.dir.Close()
		n.dir = nil
	}
}
