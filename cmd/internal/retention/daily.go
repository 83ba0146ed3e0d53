package retention

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/datadir"
)

const (
	// first is the time from the start of a program until it looks for the first time.
	first = 5 * time.Minute
	// again is the time between two looks of one program, and daily that of all of them together.
	again = 6 * time.Hour
	daily = 23 * time.Hour
)

// dayFile is the file in the data folder that says when sessions were last looked at.
const dayFile = "retention.json"

// day is its content.
type day struct {
	Last time.Time `json:"last"`
}

// Daily looks after old sessions while a program serves.
type Daily struct {
	Dir     string // the data folder
	Rules   func() (configs.Sessions, error)
	Store   Store
	Gateway *core.Gateway
	Log     *zap.Logger
}

// Run looks for old sessions once a day, until ctx ends.
func (d Daily) Run(ctx context.Context) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := d.once(ctx, time.Now()); err != nil && ctx.Err() == nil {
			d.Log.Warn("old sessions could not be looked after", zap.Error(err))
		}
		timer.Reset(again)
	}
}

// once does what is due, unless a process has done it within a day.
func (d Daily) once(ctx context.Context, now time.Time) error {
	rules, err := d.Rules()
	if err != nil || None(rules) {
		return nil //nolint:nilerr // a mistake in the configuration is reported where it is used
	}
	if _, err := os.Stat(d.Dir); err != nil {
		return nil //nolint:nilerr // there is no session yet
	}
	mine, err := d.take(ctx, now)
	if err != nil || !mine {
		return err
	}
	due, err := Due(ctx, d.Store, rules, now)
	if err != nil {
		return err
	}
	for _, old := range due {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if old.Spared != "" {
			continue
		}
		why, err := Apply(ctx, d.Gateway, d.Store, old, time.Now())
		is := []zap.Field{zap.String("session", string(old.ID)), zap.Time("used", old.Used), zap.Int("tasks", len(old.Tasks))}
		switch {
		case err != nil:
			d.Log.Warn("an old session stays", append(is, zap.Error(err))...)
		case why != "":
			d.Log.Info("an old session stays", append(is, zap.String("why", why))...)
		case old.Delete:
			d.Log.Warn("a session was deleted: nobody has used it for sessions.delete_after", is...)
		default:
			d.Log.Info("a session was archived: nobody has used it for sessions.archive_after", is...)
		}
	}
	return nil
}

// take takes the day for this process; false: another one has.
func (d Daily) take(ctx context.Context, now time.Time) (mine bool, err error) {
	doc := datadir.Document[day]{Path: filepath.Join(d.Dir, dayFile)}
	err = doc.Change(ctx, func(was day) (day, error) {
		if since := now.Sub(was.Last); since >= 0 && since < daily {
			return was, datadir.ErrUnchanged
		}
		mine = true
		return day{Last: now.UTC()}, nil
	})
	return mine, err
}
