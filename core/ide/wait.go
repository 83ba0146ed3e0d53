package ide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/core/display"
)

// Wait is the time limit for an editor's answer.
const Wait = 10 * time.Second

// Lacking returns the reason why an editor does not have the requested service or
// data, from the error of [Editor.Do]. Any other failure is an error, in the editor's
// words. wait is the context of the request, which ends with ctx or after Wait.
func Lacking(ctx, wait context.Context, err error) (string, error) {
	var lacks *Lacks
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &lacks):
		return display.Visible(lacks.Error()), nil
	case wait.Err() != nil:
		return "", fmt.Errorf("the editor did not answer within %v", Wait)
	}
	return "", errors.New(display.Visible(err.Error()))
}
