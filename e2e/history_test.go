package e2e

import (
	"fmt"
	"slices"
	"strings"
)

// history records the actions and sights of the clients of one data folder, in the order
// in which the test made them. check reports what contradicts dragoman's promises.
type history struct{ acts []act }

// act is one thing that a client did, or all that it saw of a session from one beginning
// to the time it was recorded.
type act struct {
	kind    actKind
	client  string // one process
	session string
	prompt  string    // prompted, taken, refused
	sight   []element // saw, loaded
}

type actKind string

const (
	prompted actKind = "prompted" // sent; what became of it is not known
	taken    actKind = "taken"    // and answered: it began, or it ended
	refused  actKind = "refused"  // and answered: another process has the session
	unstored actKind = "unstored" // and answered: the session could not be stored
	saw      actKind = "saw"      // live, as far as it was read
	loaded   actKind = "loaded"   // all that there is; nothing runs
	glimpsed actKind = "glimpsed" // all that there is, while something runs
)

// element is one thing that was shown.
type element struct {
	kind elementKind
	id   string // of a call
	text string // of a call: its state
}

type elementKind string

const (
	elemSaid    elementKind = "said" // by the user
	elemText    elementKind = "text" // by the agent, joined
	elemThought elementKind = "thought"
	elemFact    elementKind = "fact" // anything else, as it stood on the wire
	elemState   elementKind = "state"
	elemCall    elementKind = "call" // where a call began, with all that was told of it when it has ended
)

// stages are the states of a call in each dialect, in the order that they can have.
var stages = map[string]int{
	"pending": 0, "in_progress": 2, "completed": 3, "failed": 3, // ACP
	"toolCallPrepare": 0, "toolCallRun": 1, "toolCallRunning": 2, "toolCalled": 3, "toolCallRejected": 3, // ECA
	"proposed": 0, "awaiting_approval": 1, "running": 2, "rejected": 3, "cancelled": 3, // MCP
}

const lastStage = 3

// check lists what cannot be:
//
//   - of one sight: a call whose state goes back, or that ends twice;
//   - of two sights of a session: an order that differs, something that the later one
//     lacks. The last text that was read before a process died may be shorter. Once a
//     client has learned that the session could not be stored, whatever its later live
//     sights add may be lost;
//   - a prompt that was answered and is not there, is there twice, or in another order;
//   - a prompt that was refused and is there;
//   - a call that has not ended though nothing runs.
func (h *history) check() (faults []string) {
	report := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	known := map[string][]element{} // by session: what somebody saw
	prompts := map[string][]act{}   // by session
	lost := map[[2]string]bool{}    // client and session: it was told that
	for _, a := range h.acts {
		where := fmt.Sprintf("session %s, seen by %s", a.session, a.client)
		switch a.kind {
		case prompted:
			prompts[a.session] = append(prompts[a.session], a)
		case taken, refused:
			i := slices.IndexFunc(prompts[a.session], func(p act) bool { return p.prompt == a.prompt })
			if i < 0 {
				report("%s: %q is answered and was never sent", where, a.prompt)
				continue
			}
			prompts[a.session][i].kind = a.kind
		case unstored:
			lost[[2]string{a.client, a.session}] = true
		case saw, loaded, glimpsed:
			for _, f := range checkCalls(a.sight, a.kind == loaded) {
				report("%s: %s", where, f)
			}
			if a.kind == loaded {
				for _, f := range checkPrompts(a.sight, prompts[a.session]) {
					report("%s: %s", where, f)
				}
			}
			was, is := ordered(known[a.session]), ordered(a.sight)
			more, f := follows(was, is, a.kind == saw)
			if f != "" {
				report("%s: %s", where, f)
			}
			session, _, _ := strings.Cut(a.session, "/") // of a turn
			if a.kind != saw || !lost[[2]string{a.client, session}] {
				known[a.session] = more
			}
		}
	}
	return faults
}

// checkCalls looks at each call's states. With ended all must have ended.
func checkCalls(sight []element, ended bool) (faults []string) {
	at := map[string]string{}
	for _, e := range sight {
		if e.kind != elemState {
			continue
		}
		stage, ok := stages[e.text]
		before, seen := at[e.id]
		switch {
		case !ok:
			faults = append(faults, fmt.Sprintf("call %s is in the state %q, which is none", e.id, e.text))
		case seen && before == e.text && stage < lastStage: // something else of it has changed
		case seen && before == e.text:
			faults = append(faults, fmt.Sprintf("call %s is told to be %q twice", e.id, e.text))
		case seen && stage <= stages[before]:
			faults = append(faults, fmt.Sprintf("call %s goes from %q back to %q", e.id, before, e.text))
		}
		at[e.id] = e.text
	}
	for id, state := range at {
		if ended && stages[state] < lastStage {
			faults = append(faults, fmt.Sprintf("call %s is still %q though nothing runs", id, state))
		}
	}
	return faults
}

// checkPrompts compares what is said in a sight of everything with what was prompted.
// Each prompt of a history is one of a kind.
func checkPrompts(sight []element, prompts []act) (faults []string) {
	var said []string
	for _, e := range sight {
		if e.kind == elemSaid {
			said = append(said, e.text)
		}
	}
	last := -1
	for _, p := range prompts {
		n, i := 0, slices.Index(said, p.prompt)
		for _, s := range said {
			if s == p.prompt {
				n++
			}
		}
		switch {
		case n > 1:
			faults = append(faults, fmt.Sprintf("%q is there %d times", p.prompt, n))
		case n == 0 && p.kind == taken:
			faults = append(faults, fmt.Sprintf("%q was answered and is not there; there are %q", p.prompt, said))
		case n == 1 && p.kind == refused:
			faults = append(faults, fmt.Sprintf("%q was refused and is there", p.prompt))
		case n == 1 && i < last:
			faults = append(faults, fmt.Sprintf("%q is in front of what was prompted before it; there are %q", p.prompt, said))
		}
		last = max(last, i)
	}
	for _, s := range said {
		if !slices.ContainsFunc(prompts, func(p act) bool { return p.prompt == s }) {
			faults = append(faults, fmt.Sprintf("%q is there and was never prompted", s))
		}
	}
	return faults
}

// ordered returns the elements that every sight of a session shows in the same order. It
// leaves out the user's messages and the states of calls, which a live sight shows
// differently from a later one, and joins the text on both sides of them: an editor is
// not shown its own prompt between two turns.
func ordered(sight []element) (list []element) {
	for _, e := range sight {
		n := len(list)
		switch {
		case e.kind == elemSaid || e.kind == elemState:
		case n > 0 && list[n-1].kind == e.kind && (e.kind == elemText || e.kind == elemThought):
			list[n-1].text += e.text
		default:
			list = append(list, e)
		}
	}
	return list
}

// follows compares what is known of a session with a sight of it, and returns what is
// known then. A partial sight may end early.
func follows(was, is []element, partial bool) (more []element, fault string) {
	for i, w := range was {
		last := i == len(was)-1
		delta := w.kind == elemText || w.kind == elemThought
		switch {
		case i == len(is) && partial, i == len(is) && last && delta:
			return was, ""
		case i == len(is):
			return was, fmt.Sprintf("%d of %d elements are missing, from %s on", len(was)-i, len(was), w)
		case w == is[i]:
		case w.kind == elemCall && is[i].kind == elemCall && w.id == is[i].id && w.text == "": // it has ended
		case w.kind == elemCall && is[i].kind == elemCall && w.id == is[i].id && is[i].text == "" && partial: // its end comes
			is[i] = w
		case delta && w.kind == is[i].kind && strings.HasPrefix(is[i].text, w.text) && last: // it went on
		case delta && w.kind == is[i].kind && strings.HasPrefix(w.text, is[i].text) && (last || partial && i == len(is)-1):
			if partial && i == len(is)-1 {
				return was, ""
			}
		case delta && last: // it was lost whole
		default:
			return was, fmt.Sprintf("element %d is %s and was %s", i, is[i], w)
		}
	}
	return is, ""
}

func (e element) String() string { return fmt.Sprintf("%s %s %.100q", e.kind, e.id, e.text) }
