package bundle

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/codec"
)

// session is a session that is being read.
type session struct {
	file   *reader
	id     core.SessionID // in the file
	main   bool           // it is the exported one
	dec    codec.Decoder
	end    core.Pos // after the last record
	run    []byte   // the stream of the last record; empty: none
	epoch  uint64
	last   time.Time
	open   open
	set    core.Settings
	spill  map[string]bool // names of cut output, in lower case
	stream []byte          // for reuse
}

func (s *session) record(text []byte) error {
	line, err := codec.ParseLine(text)
	if err != nil {
		return errForm
	}
	r, err := s.dec.DecodeLine(line)
	if err != nil {
		return errForm
	}
	s.stream = line.AppendStream(s.stream[:0])
	if err := s.follow(r); err != nil {
		return err
	}
	s.run, s.stream = s.stream, s.run
	if err := s.open.add(r.Event, len(text)); err != nil {
		return err
	}
	if r.Seq == 1 && r.Off == 0 {
		return s.opened(r)
	}
	if r.Event, err = s.foreign(r.Event, r.Seq); err != nil {
		return err
	}
	return s.write(r)
}

// follow checks the place of a record in the log.
func (s *session) follow(r core.Record) error {
	next, rest, ok, err := s.end.Splice(r)
	switch {
	case err != nil:
		return err
	case !ok || rest.Seq != r.Seq || rest.Off != r.Off || r.Seq == 0:
		return fmt.Errorf("record %d.%d has the number of an earlier one", r.Seq, r.Off)
	case next.Seq > maxSeq || r.Epoch > maxEpoch:
		return fmt.Errorf("record %d.%d of epoch %d: no log is so long", r.Seq, r.Off, r.Epoch)
	case r.Epoch < s.epoch:
		return fmt.Errorf("record %d.%d is of an earlier epoch than the one before it", r.Seq, r.Off)
	case r.Off > 0 && string(s.run) != string(s.stream):
		return fmt.Errorf("record %d.%d continues another text than the one before it", r.Seq, r.Off)
	}
	s.end, s.epoch = next, r.Epoch
	return nil
}

// opened takes the first record: it says what the session is.
func (s *session) opened(r core.Record) error {
	e, ok := r.Event.(core.Opened)
	if !ok || e.Meta.ID != s.id {
		return errForm
	}
	f, was := s.file, e.Meta
	if was.Forks < 0 || was.Forks > 1<<20 {
		return fmt.Errorf("the session is the copy of %d others: no session is", was.Forks)
	}
	m := core.Meta{ID: f.ids[s.id], Principal: f.Principal, Forks: was.Forks, Created: s.past(was.Created)}
	if s.main {
		roots := was.Roots
		if !slices.Contains(roots, was.Cwd) {
			roots = append([]string{was.Cwd}, roots...)
		}
		choose := f.Folders
		if choose == nil {
			choose = Folders
		}
		var err error
		if f.roots, err = choose(roots); err != nil {
			return refusal{err}
		}
		f.info.Roots = f.roots
	} else {
		parent := f.ids[was.Parent]
		if was.Parent == s.id || parent == "" || !slices.Contains(f.info.Sessions[:f.begun-1], was.Parent) {
			return fmt.Errorf("the task %.100q belongs to no session before it", s.id)
		}
		m.Parent, m.ParentAgent = parent, was.ParentAgent
	}
	m.Cwd, m.Roots = f.roots[0], f.roots
	if f.to != nil {
		if err := f.to.Session(f.ctx, m); err != nil {
			return err
		}
	}
	r.Event = core.Opened{Meta: m}
	return s.write(r)
}

// Folders checks the folders of a session: absolute and plain. It returns them.
func Folders(roots []string) ([]string, error) {
	const most, length = 1000, 4096
	if len(roots) == 0 || len(roots) > most {
		return nil, fmt.Errorf("the session has %d folders; 1 to %d are possible", len(roots), most)
	}
	for _, dir := range roots {
		switch {
		case len(dir) > length || !utf8.ValidString(dir) || strings.ContainsFunc(dir, hidden):
			return nil, fmt.Errorf("the session's folder %.100q is no plain path; another one can be given (--folder)", dir)
		case !filepath.IsAbs(dir) || filepath.Clean(dir) != dir:
			return nil, fmt.Errorf("the session's folder %.100q is no absolute path here; another one can be given (--folder)", dir)
		}
	}
	return roots, nil
}

// hidden reports whether a character cannot be seen.
func hidden(c rune) bool { return !unicode.IsPrint(c) || c == utf8.RuneError }

// spills checks a name of cut output.
func (s *session) spills(name string) error {
	fold := strings.ToLower(name)
	switch err := core.CheckSpill(name); {
	case err != nil:
		return err
	case s.end.Seq == 0:
		return errForm
	case s.spill[fold]:
		return fmt.Errorf("cut output %q: there are two of this name", name)
	}
	if s.spill == nil {
		s.spill = map[string]bool{}
	}
	s.spill[fold] = true
	return nil
}

// write passes a record on.
func (s *session) write(r core.Record) error {
	r.Time = s.past(r.Time)
	s.last = r.Time
	if s.file.to == nil {
		return nil
	}
	return s.file.to.Write(r)
}

// past returns a time that is not in the future: that of the record before if it is unknown.
func (s *session) past(t time.Time) time.Time {
	if now := s.file.Now.UTC(); t.After(now) {
		return now
	}
	if t.IsZero() {
		return s.last
	}
	return t
}

// close ends the log: default settings, and the import as its last use.
func (s *session) close() error {
	if s.end.Seq == 0 {
		return errors.New("a session has no records")
	}
	if s.set != (core.Settings{}) {
		if err := s.add(core.SettingsChanged{By: s.file.By}); err != nil {
			return err
		}
	}
	return s.add(core.Archived{By: s.file.By})
}

// add writes a record of our own.
func (s *session) add(ev core.Event) error {
	if s.end.Off > 0 {
		s.end = core.Pos{Epoch: s.epoch, Seq: s.end.Seq + 1}
	}
	r := core.Record{Epoch: s.epoch, Seq: s.end.Seq, Time: s.file.Now.UTC(), Event: ev}
	s.end = r.End()
	return s.write(r)
}

// open counts what a session keeps in memory until it ends.
type open struct {
	sizes map[string]int
	total int
}

func (o *open) add(ev core.Event, size int) error {
	switch e := any(ev).(type) {
	case core.CallChanged:
		if o.set("call "+string(e.Call.ID), size); e.Call.State.Ended() {
			o.drop("call " + string(e.Call.ID))
		}
	case core.CallOutput:
		o.set("output "+string(e.Call), 64) // of which the end is kept
	case core.Asked:
		o.set("ask "+string(e.Ask.ID), size)
	case core.Answered:
		o.drop("ask " + string(e.Ask))
	case core.PromptQueued:
		o.set("turn "+string(e.Turn), size)
	case core.TurnStarted:
		o.drop("turn " + string(e.Turn))
	case core.TurnEnded:
		o.drop("turn " + string(e.Turn))
	case core.Flagged:
		o.set("mark "+string(e.Message), size)
	case core.SettingsChanged:
		o.set("agent "+e.Settings.Agent, size)
	}
	if o.total > maxOpen {
		return fmt.Errorf("it has more than %d MiB of calls, prompts and questions that are open at once", maxOpen>>20)
	}
	return nil
}

func (o *open) set(key string, size int) {
	if o.sizes == nil {
		o.sizes = map[string]int{}
	}
	size += 2*len(key) + 64
	o.total += size - o.sizes[key]
	o.sizes[key] = size
}

func (o *open) drop(key string) {
	o.total -= o.sizes[key]
	delete(o.sizes, key)
}
