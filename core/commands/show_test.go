package commands

import (
	"testing"

	"dragoman/core"
)

func TestShowCosts(t *testing.T) {
	cost := 1.5
	for _, tt := range []struct {
		u    core.Usage
		want string
	}{
		{core.Usage{}, "No model was asked yet.\n"},
		{core.Usage{In: 1000, Out: 20, Reasoning: 7}, "- Sent: 1,000 tokens\n- Received: 20 tokens\n- Of these reasoning: 7 tokens\n- Price: not known\n"},
		{
			core.Usage{In: 5, CacheRead: 3, CacheWrite: 1, Cost: &cost, Estimated: true},
			"- Sent: about 5 tokens\n- Of these read from the provider's cache: about 3 tokens\n- Of these written to the provider's cache: about 1 tokens\n- Price: about $1.50\n",
		},
	} {
		if got, ok := Show(nil, "costs", State{Session: core.State{Usage: tt.u}}); !ok || got != "**Costs of this session**\n\n"+tt.want {
			t.Errorf("%v\n%s\nwant\n%s", ok, got, tt.want)
		}
	}
}

func TestShowConfig(t *testing.T) {
	got, ok := Show(nil, "config", State{Config: "a: |\n  ```\n"})
	if want := "**Configuration in use**\n\nNo configuration file was read.\n\n````yaml\na: |\n  ```\n````\n"; !ok || got != want {
		t.Errorf("%v\n%s\nwant\n%s", ok, got, want)
	}
}

func TestDollars(t *testing.T) {
	for x, want := range map[float64]string{0: "$0.00", 12.345: "$12.35", 0.25: "$0.25", 0.0421: "$0.042", 0.00123: "$0.0012", 1e-9: "$0.000000"} {
		if got := dollars(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := number(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
