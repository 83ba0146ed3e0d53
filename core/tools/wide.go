package tools

import (
	"context"
	"path"
)

// wide calls visit for every entry, nearer ones first: what is in a folder comes
// before what is in the folders in it. It stops when visit says so, and it is for
// looking around in what may be very large: of one folder it sees at most
// w.most entries.
func (w *walk) wide(ctx context.Context, visit func(entry) (into, on bool)) {
	type folder struct {
		rel   string
		depth int
		rules *ignores
	}
	for todo := []folder{{".", 1, w.rules}}; len(todo) > 0 && ctx.Err() == nil; todo = todo[1:] {
		f := todo[0]
		list, err := w.read(f.rel)
		if err != nil {
			w.closed = true
			continue
		}
		rules := w.rulesOf(f.rel, list, f.rules)
		for _, d := range list {
			e := entry{rel: path.Join(f.rel, d.Name()), name: d.Name(), kind: d.Type(), depth: f.depth}
			if !w.shows(e, rules) {
				continue
			}
			into, on := visit(e)
			if !on {
				return
			}
			if into && d.IsDir() {
				todo = append(todo, folder{e.rel, f.depth + 1, rules})
			}
		}
	}
}
