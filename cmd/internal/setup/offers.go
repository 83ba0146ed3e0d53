package setup

import (
	"context"

	"go.uber.org/zap"

	"dragoman/cmd/internal/models"
)

// ask asks the services of the models in use for what they offer, and makes new profiles if there
// are other models. It asks no service of a profile that it sees for the first time: the request
// that has made it may be unanswered.
func (p *edition) ask(ctx context.Context) {
	p.mu.Lock()
	made := p.made
	first := made != nil && p.settled != made.Finder
	if first {
		p.settled = made.Finder
	}
	p.mu.Unlock()
	if made == nil || first {
		return
	}
	news, err := made.Finder.Ask(ctx, models.Asking{})
	if err != nil && ctx.Err() == nil {
		p.log.Logger.Info("models", zap.Error(err))
	}
	if !news {
		return
	}
	p.mu.Lock()
	p.stale = true
	p.mu.Unlock()
	_, _ = p.Load() //nolint:errcheck // the next request reports it
}
