package ecaserver_test

import (
	"reflect"
	"testing"

	"dragoman/bridge/ecaserver"
	"dragoman/bridge/ecaserver/ecatest"
	"dragoman/core"
	"dragoman/core/board"
)

// The jobs of a server are on the board while it runs: what they print is read, and they are killed by the server.
func TestJobsAreOnTheBoard(t *testing.T) {
	b := board.New()
	jobs := func() (list []board.Job) {
		posted, _ := b.Now()
		for _, p := range posted {
			if j, ok := p.Item.(board.Job); ok && p.Topic.Principal == core.Local {
				list = append(list, j)
			}
		}
		return list
	}
	c := one(t, ecatest.Options{Faults: map[string]string{
		"jobs/kill": `{"killed":true}`, "jobs/readOutput": `{"lines":[{"text":"ready","stream":"stdout"},{"text":"oops","stream":"stderr"}],"status":"running"}`,
	}}, func(o *ecaserver.Options) { o.Board = b })
	c.say(`notify jobs/updated {"jobs":[{"id":"j1","status":"running","label":"npm run dev","summary":"Serve","startedAt":"2026-01-02T03:04:05Z","chatId":"CHAT"},{"id":"j2","status":"running","label":"other","chatId":"another chat"}]}`)
	list := jobs()
	if len(list) != 1 {
		t.Fatalf("jobs: %+v", list)
	}
	is := list[0].Info
	if is.Session != c.session.Meta().ID || is.Command != "npm run dev" || is.Summary != "Serve" || is.Status != board.JobRunning || is.Started.Year() != 2026 {
		t.Errorf("%+v", is)
	}
	if got := list[0].Control.Output(); !reflect.DeepEqual(got, []board.JobLine{{Text: "ready"}, {Text: "oops", Stderr: true}}) {
		t.Errorf("output %+v", got)
	}
	if killed, err := list[0].Control.Kill(t.Context()); !killed || err != nil {
		t.Errorf("killed %v, %v", killed, err)
	}
	c.say(`notify jobs/updated {"jobs":[{"id":"j1","status":"killed","label":"npm run dev","chatId":"CHAT"}]}`)
	if list = jobs(); len(list) != 1 || list[0].Info.Status != board.JobKilled || list[0].Info.Ended.IsZero() || list[0].Info.Started.Year() != 2026 {
		t.Errorf("jobs: %+v", list)
	}
	if err := c.gateway.Close(c.ctx); err != nil {
		t.Fatal(err)
	}
	if list = jobs(); len(list) != 0 {
		t.Errorf("jobs of a server that has ended: %+v", list)
	}
}
