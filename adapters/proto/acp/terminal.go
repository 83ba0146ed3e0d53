package acp

// CreateTerminal holds the params of `terminal/create`.
type CreateTerminal struct {
	SessionID       string   `json:"sessionId"`
	Command         string   `json:"command"`
	Args            []string `json:"args,omitempty"`
	Env             []Pair   `json:"env,omitempty"`
	Cwd             string   `json:"cwd,omitempty"`
	OutputByteLimit *int     `json:"outputByteLimit,omitempty"`
}

// TerminalCreated answers `terminal/create`.
type TerminalCreated struct {
	TerminalID string `json:"terminalId"`
}

// TerminalRef holds the params of `terminal/output`, `terminal/wait_for_exit`, `terminal/kill`
// and `terminal/release`.
type TerminalRef struct {
	SessionID  string `json:"sessionId"`
	TerminalID string `json:"terminalId"`
}

// TerminalOutputResponse answers `terminal/output`. ExitStatus is nil while the
// command runs.
type TerminalOutputResponse struct {
	Output     string          `json:"output"`
	Truncated  bool            `json:"truncated"`
	ExitStatus *TerminalStatus `json:"exitStatus"`
}

// TerminalStatus is the exit status of a command, and answers `terminal/wait_for_exit`.
type TerminalStatus struct {
	ExitCode *int    `json:"exitCode"`
	Signal   *string `json:"signal"`
}
