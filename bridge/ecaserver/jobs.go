package ecaserver

import (
	"cmp"
	"encoding/json"
	"fmt"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
)

// jobRuns is the status of a job that runs.
const jobRuns = "running"

// jobsUpdated handles jobs/updated: the jobs of the server's own, which keep the session awake. Those that
// begin or end are told.
func (p *peer) jobsUpdated(params json.RawMessage) {
	var list struct {
		Jobs []struct {
			ID       string  `json:"id"`
			Status   string  `json:"status"`
			Label    string  `json:"label"`
			Summary  *string `json:"summary"`
			ExitCode *int    `json:"exitCode"`
			ChatID   string  `json:"chatId"`
		} `json:"jobs"`
	}
	if p.c == nil || wire.Unmarshal(params, &list) != nil || len(list.Jobs) > 1000 {
		return
	}
	now := map[string]string{}
	var told []string
	c := p.c
	c.mu.Lock()
	for _, j := range list.Jobs {
		if j.ChatID != "" && j.ChatID != c.root.id {
			continue
		}
		now[j.ID] = j.Status
		was, known := c.jobs[j.ID]
		label := display.Line(j.Label, 200)
		if j.Summary != nil {
			label = cmp.Or(display.Line(*j.Summary, 200), label)
		}
		switch {
		case j.Status == jobRuns && !known:
			told = append(told, fmt.Sprintf("the job %s runs in the background: %s", display.Word(j.ID), label))
		case was == jobRuns && j.Status != jobRuns:
			end := display.Line(j.Status, 40)
			if j.ExitCode != nil {
				end += fmt.Sprintf(" (exit code %d)", *j.ExitCode)
			}
			told = append(told, fmt.Sprintf("the job %s has ended: %s: %s", display.Word(j.ID), label, end))
		}
	}
	c.jobs = now
	c.mu.Unlock()
	for _, text := range told {
		c.notice(core.Info, text)
	}
}

// serverUpdated handles tool/serverUpdated. An MCP server of the agent's own that has failed is told.
func (p *peer) serverUpdated(params json.RawMessage) {
	var s eca.ServerUpdatedParams
	if wire.Unmarshal(params, &s) != nil || p.c == nil || s.Type != eca.ServerMCP {
		return
	}
	switch s.Status {
	case "failed":
		p.c.notice(core.Warning, "its MCP server "+display.Word(s.Name)+" has failed")
	case "requires-auth":
		p.c.notice(core.Warning, "its MCP server "+display.Word(s.Name)+" wants a login, which only an editor of its own can give")
	}
}
