package loop

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// slowServer is a toolbox of one server, which has a tool as soon as it runs.
type slowServer struct {
	needs, patient time.Duration // until it runs, and at most for a wait for it

	begun          time.Time
	ready, changed chan struct{}
}

func (s *slowServer) Open(context.Context, core.ToolHost) (core.Toolset, error) {
	s.begun, s.ready, s.changed = time.Now(), make(chan struct{}), make(chan struct{}, 1)
	time.AfterFunc(s.needs, func() { s.changed <- struct{}{}; close(s.ready) })
	return s, nil
}

func (s *slowServer) Tools(context.Context) ([]core.Tool, error) {
	if len(s.Starting()) > 0 {
		return nil, nil
	}
	return []core.Tool{tool("look")}, nil
}

func (s *slowServer) Starting() []string {
	select {
	case <-s.ready:
		return nil
	default:
		return []string{"slow"}
	}
}

func (s *slowServer) Require(context.Context) error {
	if len(s.Starting()) > 0 {
		return errors.New("slow has not started")
	}
	return nil
}

func (s *slowServer) Await(ctx context.Context, whole bool) {
	limit := s.patient
	if whole {
		limit = time.Minute
	}
	select {
	case <-s.ready:
	case <-time.After(time.Until(s.begun.Add(limit))):
	case <-ctx.Done():
	}
}

func (s *slowServer) Changed() <-chan struct{} { return s.changed }

func (*slowServer) Close() error { return nil }

// A turn waits a little for a server that is starting, and says so once that takes a moment. It
// goes on without a slower one, tells the user once, and the next request has its tools.
func TestTurnsWaitALittleForServers(t *testing.T) {
	const starting, slow = "starting slow", "MCP servers that are still starting: slow"
	for name, c := range map[string]struct {
		needs time.Duration
		shown []string // of both turns
		tools string   // offered in each of the four requests
	}{
		"at once":    {0, nil, "look look look look"},
		"quick":      {100 * time.Millisecond, nil, "look look look look"},
		"noticed":    {time.Second, []string{starting}, "look look look look"},
		"slow":       {3 * time.Second, []string{starting, slow}, "- look look look"},
		"over turns": {8 * time.Second, []string{starting, slow}, "- - - look"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := coretest.NewScript(
					coretest.Answer{}.Call("c1", "wait", `{}`), coretest.Answer{}.Say("one"),
					coretest.Answer{}.Call("c2", "wait", `{}`), coretest.Answer{}.Say("two"),
				)
				wait := tool("wait", func(context.Context, core.Invocation) (core.Result, error) {
					<-time.After(4 * time.Second)
					return core.Result{}, nil
				})
				box := &slowServer{needs: c.needs, patient: 1500 * time.Millisecond}
				r := start(t, script, setup{tools: []core.Tool{wait}, boxes: []core.Toolbox{box}})
				var shown []string
				for _, text := range []string{"go", "again"} {
					id := r.prompt(text)
					for _, ev := range r.read(func(ev core.Event) bool { e, ok := ev.(core.TurnEnded); return ok && e.Turn == id }) {
						switch e := ev.(type) {
						case core.Phase:
							if e.Kind == core.PhaseStarting {
								shown = append(shown, "starting "+e.Tool)
							}
						case core.Notice:
							text, _, _ := strings.Cut(e.Text, ".")
							shown = append(shown, text)
						}
					}
				}
				wantLines(t, shown, c.shown...)
				var tools []string
				for _, req := range script.Requests() {
					names := "-"
					for _, spec := range req.Tools {
						if spec.Name != "wait" {
							names = spec.Name
						}
					}
					tools = append(tools, names)
				}
				if got := strings.Join(tools, " "); got != c.tools {
					t.Errorf("the requests had the tools %s, want %s", got, c.tools)
				}
				r.close()
			})
		})
	}
}
