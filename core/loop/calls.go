package loop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/inference"
)

var (
	errUnfinished = errors.New("the arguments stopped in the middle")
	errNoObject   = errors.New("the arguments are not a JSON object")
)

// arguments returns the arguments of a complete call, as a JSON object.
func arguments(d inference.Delta) (json.RawMessage, error) {
	if d.Bad != nil {
		return nil, d.Bad
	}
	args := bytes.TrimSpace(d.Args)
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	if args[0] != '{' || !json.Valid(args) {
		return nil, errNoObject
	}
	return args, nil
}

// run runs the calls of one answer: concurrently if none has an effect, else one after the
// other. Their results are in the log when it returns. An error means that the turn must
// end.
func (c *conversation) run(ctx context.Context, t *core.Turn, calls []*modelCall) error {
	inOrder := slices.ContainsFunc(calls, func(h *modelCall) bool { return !h.spec.ReadOnly })
	most := c.b.o.Parallel
	if inOrder {
		most = 1
	}
	events := []core.Event{core.Phase{Turn: t.ID(), Kind: core.PhaseCalling, Tool: toolsOf(calls)}}
	events = append(events, whileWaiting(t, calls[min(most, len(calls)):])...)
	if err := t.Emit(ctx, events...); err != nil {
		return err
	}
	if inOrder {
		return runInOrder(ctx, t, calls)
	}
	return runBeside(ctx, t, calls, most)
}

func runInOrder(ctx context.Context, t *core.Turn, calls []*modelCall) error {
	for _, h := range calls {
		run := h.run
		if len(t.Later()) > 0 {
			run = h.postpone
		}
		if err := run(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// runBeside runs at most n calls at a time and waits for all.
func runBeside(ctx context.Context, t *core.Turn, calls []*modelCall, n int) error {
	errs := make([]error, len(calls))
	free := make(chan struct{}, n) // a slot for each running call
	var wg sync.WaitGroup
	for i, h := range calls {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			errs[i] = h.run(ctx, t)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// run runs one call. When it returns, the log has everything that the model should
// learn about it.
func (h *modelCall) run(ctx context.Context, t *core.Turn) error {
	switch {
	case h.bad != nil:
		return h.refuse(
			ctx,
			t,
			fmt.Sprintf(
				"the call did not run: %v; make it again with a JSON object that fits the tool's schema",
				h.bad,
			),
		)
	case !h.offered: // even if the tool exists for other agents
		return h.refuse(ctx, t, fmt.Sprintf("there is no tool %q here", h.spec.Name))
	case h.found != "":
		return h.answerSearch(ctx, t)
	}
	_, err := t.Invoke(ctx, h.call())
	return err
}

// call is the call as it is invoked.
func (h *modelCall) call() core.Call {
	return core.Call{ID: h.id, Server: h.spec.Server, Tool: h.spec.Name, Args: h.args}
}

// refuse ends a call that cannot be made. It asks no one for an approval.
func (h *modelCall) refuse(ctx context.Context, t *core.Turn, why string) error {
	call := h.proposed(t.ID())
	call.State, call.End = core.Errored, time.Now()
	call.Why, call.Args = why, h.args
	if h.bad != nil {
		call.Args = json.RawMessage("{}") // so that the model sees its call
	}
	call.Content = []core.Block{core.Text{Text: call.Why}}
	return t.Emit(ctx, core.CallChanged{Call: call})
}

// toolsOf lists the tools of some calls, each once, for people.
func toolsOf(calls []*modelCall) string {
	var names []string
	seen := map[string]bool{}
	for _, h := range calls {
		if name := h.spec.Name; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
