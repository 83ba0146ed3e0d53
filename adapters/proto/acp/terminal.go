package acp

// CreateTerminal is `terminal/create`.
type CreateTerminal struct {
	SessionID       string   `json:"sessionId"`
	Command         string   `json:"command"`
	Args            []string `json:"args,omitempty"`
	Env             []Pair   `json:"env,omitempty"`
	Cwd             string   `json:"cwd,omitempty"`
	OutputByteLimit *int     `json:"outputByteLimit,omitempty"`
}

// TerminalCreated answers it.
type TerminalCreated struct {
	TerminalID string `json:"terminalId"`
}

// TerminalRef is the parameter of `terminal/output`, `terminal/wait_for_exit`,
// `terminal/kill` and `terminal/release`.
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

// TerminalStatus is how a command ended, and answers `terminal/wait_for_exit`.
type TerminalStatus struct {
	ExitCode *int    `json:"exitCode"`
	Signal   *string `json:"signal"`
}
