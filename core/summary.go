package core

import "iter"

// Summarize derives a session's summary from its stored log, as the session
// itself would. read starts reading the log from its beginning; it is called
// twice where something was truncated.
func Summarize(read func() iter.Seq2[Record, error]) (Summary, error) {
	st, l := newState(), newLog()
	for r, err := range read() {
		if err != nil {
			return Summary{}, err
		}
		if t, ok := r.Event.(Truncated); ok {
			l.Hide(t.After, r.Seq)
		}
		st.apply(r.Event, r.Time)
	}
	if len(l.Hidden) > 0 {
		meta := st.Meta
		st = newState()
		for r, err := range read() {
			if err != nil {
				return Summary{}, err
			}
			if l.Skip(Pos{r.Epoch, r.Seq, 0}).Seq == r.Seq {
				st.apply(r.Event, r.Time)
			}
		}
		st.Meta = meta
	}
	sum := st.Summary()
	sum.Running = false
	return sum, nil
}
