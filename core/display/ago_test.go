package display_test

import (
	"testing"
	"time"

	"dragoman/core/display"
)

func TestAgo(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)
	for d, want := range map[time.Duration]string{
		time.Second: "just now", 90 * time.Second: "1 min ago", 5 * time.Hour: "5 h ago", 50 * time.Hour: "2 d ago", 1000 * time.Hour: "2026-01-21",
	} {
		if got := display.Ago(now.Add(-d), now); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
