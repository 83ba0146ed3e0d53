package jsonl

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sort"
	"sync"

	"dragoman/core"
)

// talk is an entry of a session with a message that is no delegated task. Talks are sorted as by
// core.Summary.Compare.
type talk struct {
	at    int64 // of its last use
	entry *indexEntry
	place *place // it belongs to whoever has Store.reading
}

func talkOf(e *indexEntry, p *place) talk { return talk{e.Summary.Updated.UnixNano(), e, p} }

func (t talk) compare(other talk) int {
	return cmp.Or(cmp.Compare(other.at, t.at), cmp.Compare(t.entry.Summary.ID, other.entry.Summary.ID))
}

// rank brings talks up to date.
func (c *catalog) rank() {
	var old []talk
	more := make([]talk, 0, len(c.renewed))
	for _, p := range c.renewed {
		p.renewed = false
		if p.ranked != nil {
			old = append(old, talkOf(p.ranked, p))
			p.ranked = nil
		}
		if p.entry.Summary.Parent == "" && p.entry.Summary.Messages > 0 {
			p.ranked = p.entry
			more = append(more, talkOf(p.entry, p))
		}
	}
	c.renewed = nil
	if len(old)+len(more) == 0 {
		return
	}
	slices.SortFunc(old, talk.compare)
	slices.SortFunc(more, talk.compare)
	if len(c.talks) == 0 {
		c.talks = more
		return
	}
	all := make([]talk, 0, len(c.talks)-len(old)+len(more))
	for _, t := range c.talks {
		if len(old) > 0 && t.entry == old[0].entry {
			old = old[1:]
			continue
		}
		for len(more) > 0 && more[0].compare(t) < 0 {
			all, more = append(all, more[0]), more[1:]
		}
		all = append(all, t)
	}
	c.talks = append(all, more...)
}

// doubts are the sessions whose logs differ from their entries.
type doubts struct {
	all    []talk   // each with the time of its last use or a later one
	gone   []string // the keys of sessions that have no log
	looked int      // how many logs were looked at
}

// talks yields the principal's sessions of a part, in the order of core.Summary.Compare. It looks at logs that may have
// changed since they were looked at last, and takes all others from memory.
func (l *listing) talks(ctx context.Context, root string) error {
	all, in, err := l.doubts(ctx, root)
	if err != nil {
		return err
	}
	doubtful := make(map[*place]bool, len(in.all))
	for _, t := range in.all {
		doubtful[t.place] = true
	}
	known := all[sort.Search(len(all), func(i int) bool { return l.part.Follows(all[i].entry.Summary) }):]
	var found []talk // of the doubtful ones that were looked up
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var sum core.Summary
		switch {
		case leads(in.all, known) && leads(in.all, found):
			t := in.all[0]
			in.all = in.all[1:]
			if t.entry.Principal == l.principal && l.part.May(t.entry.Summary) {
				if now, ok := l.current(ctx, root, listedPlace{entry: t.entry, place: t.place}); ok && l.part.Follows(now) {
					found = insert(found, talkOf(&indexEntry{Summary: now}, nil))
				}
			}
			continue
		case leads(found, known):
			sum, found = found[0].entry.Summary, found[1:]
		case len(known) == 0:
			return nil
		default:
			t := known[0]
			known = known[1:]
			if t.entry.Principal != l.principal || doubtful[t.place] || !l.part.May(t.entry.Summary) {
				continue
			}
			sum = t.entry.Summary
		}
		if !l.yield(sum, nil) {
			return nil
		}
	}
}

// leads reports whether the first of a comes before all of b.
func leads(a, b []talk) bool { return len(a) > 0 && (len(b) == 0 || a[0].compare(b[0]) <= 0) }

func insert(all []talk, t talk) []talk {
	i, _ := slices.BinarySearchFunc(all, t, talk.compare)
	return slices.Insert(all, i, t)
}

// doubts brings the catalog up to date, and returns its talks and which sessions are not as their entries say.
func (l *listing) doubts(ctx context.Context, root string) (talks []talk, in doubts, err error) {
	done, err := l.catalog(ctx, root)
	if err != nil {
		return nil, doubts{}, err
	}
	defer done()
	c := &l.store.catalog
	var changed []*folder
	for _, f := range c.folders {
		if f.look(root); !f.agrees {
			changed = append(changed, f)
		}
	}
	in = lookInto(root, changed)
	for _, key := range in.gone {
		l.gone = append(l.gone, l.store.filesAt(root, key))
	}
	l.looked = in.looked
	slices.SortFunc(in.all, talk.compare)
	return c.talks, in, nil
}

// together limits the number of folders that one goroutine looks into.
const together = 16

// lookInto looks at the logs in folders.
func lookInto(root string, folders []*folder) (in doubts) {
	parts := slices.Collect(slices.Chunk(folders, max(together, 1+len(folders)/runtime.GOMAXPROCS(0))))
	found := make([]doubts, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		look := func() {
			for _, f := range part {
				f.doubtful(root, &found[i])
			}
		}
		if i == len(parts)-1 {
			look()
			break
		}
		wg.Go(look)
	}
	wg.Wait()
	for _, one := range found {
		in.all, in.gone, in.looked = append(in.all, one.all...), append(in.gone, one.gone...), in.looked+one.looked
	}
	return in
}
