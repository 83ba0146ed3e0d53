package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestChosen(t *testing.T) {
	for list, want := range map[string]int{"": len(parts), ".": len(parts), "start": 1, "stream,start": 2} {
		if got, err := chosen(list); err != nil || len(got) != want {
			t.Errorf("chosen(%q) is %q, %v", list, got, err)
		}
	}
	if _, err := chosen("start,nothing"); err == nil || !strings.Contains(err.Error(), `no part "nothing"; the parts are start,`) {
		t.Errorf("an unknown part: %v", err)
	}
}

func TestSample(t *testing.T) {
	var s sample
	if s.least() != 0 || s.both() != "– / –" {
		t.Errorf("nothing is %v", s.both())
	}
	for _, ms := range []int{3, 1, 2, 100, 5} {
		s.took(time.Duration(ms) * time.Millisecond)
	}
	if got := s.both(); got != "1.00 / 3.00" {
		t.Errorf("both are %s", got)
	}
	if got := s.part(0.99); got != 100 {
		t.Errorf("the 99th hundredth is %v", got)
	}
	if got := times(3, 2) + times(3, 0); got != "1.50 ×–" {
		t.Errorf("ratios are %s", got)
	}
}

// The picture is XML, whatever was measured.
func TestPicture(t *testing.T) {
	full := charts{
		latency: []bar{{"limit, 200/s", 0.2}, {"acp, 200/s", 0}}, cpu: []bar{{"limit", 0.4}}, sessions: []bar{{"idle", 10}},
		idle: []point{{0, 20}, {1000, 30}}, history: []point{{12, 0}, {10000, -0.5}},
	}
	for _, c := range []charts{full, {}} {
		d := xml.NewDecoder(strings.NewReader(string(c.svg())))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in\n%s", err, c.svg())
			}
		}
	}
}

// The model does what the last prompt says.
func TestModel(t *testing.T) {
	b := &bench{model: newModel()}
	defer b.model.Close()
	b.post([]byte(`{"messages":[{"role":"user","content":"bench:flood 3 0 30"}]}`))
	if got := string(b.model.lastRequest()); !strings.Contains(got, "flood 3") {
		t.Errorf("the last request is %s", got)
	}
	asked := `{"messages":[{"role":"user","content":"bench:tool grep {\"pattern\":\"x\"}"}`
	b.post([]byte(asked + `]}`))
	b.post([]byte(asked + `,{"role":"tool","content":"found"}]}`))
	if got := b.model.tools(); len(got) != 1 || got[0] <= 0 {
		t.Errorf("calls took %v", got)
	}
}

// Each part is in the Makefile's help.
func TestParts(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	if want := "(BENCH=" + strings.Join(names, ",") + ")"; !slices.Contains(strings.Fields(string(text)), want) {
		t.Errorf("the Makefile lacks %s", want)
	}
}
