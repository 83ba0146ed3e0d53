package acp

// The thread protocol, the form of the protocol in June 2025. Its messages have no "jsonrpc",
// there are no notifications, and ids are integers of 32 bits.

// Thread is an entry of `getThreads`.
type Thread struct {
	ID         string `json:"id"`
	Title      string `json:"title"`
	ModifiedAt string `json:"modifiedAt"` // RFC 3339
}

// GetThreadsResponse answers `getThreads`.
type GetThreadsResponse struct {
	Threads []Thread `json:"threads"`
}

// ThreadID is the result of `createThread`, and the params of `openThread` and
// `getThreadEntries`.
type ThreadID struct {
	ThreadID string `json:"threadId"`
}

// GetThreadEntriesResponse answers `getThreadEntries`.
type GetThreadEntriesResponse struct {
	Entries []ThreadEntry `json:"entries"`
}

// ThreadEntry is a "message" (Role, Chunks) or a "readFile" (Path, Content).
type ThreadEntry struct {
	Type    string         `json:"type"`
	Role    string         `json:"role,omitempty"`
	Chunks  []MessageChunk `json:"chunks,omitempty"`
	Path    string         `json:"path,omitempty"`
	Content *string        `json:"content,omitempty"`
}

// The roles of a message.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// MessageChunk is a part of a message. Its type is "text".
type MessageChunk struct {
	Type  string `json:"type"`
	Chunk string `json:"chunk"`
}

// SendMessage holds the params of `sendMessage`. It is answered with null at the end of the turn.
type SendMessage struct {
	ThreadID string `json:"threadId"`
	Message  struct {
		Role   string         `json:"role"`
		Chunks []MessageChunk `json:"chunks"`
	} `json:"message"`
}

// StreamMessageChunk holds the params of `streamMessageChunk`, answered with null.
type StreamMessageChunk struct {
	ThreadID string       `json:"threadId"`
	Chunk    MessageChunk `json:"chunk"`
}

// ThreadFile holds the params of `readTextFile`, `readBinaryFile` and `stat`. Offsets are
// 0-based.
type ThreadFile struct {
	ThreadID   string `json:"threadId"`
	Path       string `json:"path"`
	LineOffset *int   `json:"lineOffset,omitempty"`
	LineLimit  *int   `json:"lineLimit,omitempty"`
	ByteOffset *int64 `json:"byteOffset,omitempty"`
	ByteLimit  *int64 `json:"byteLimit,omitempty"`
}

// ThreadFileContent answers `readTextFile`, and `readBinaryFile` in base64.
type ThreadFileContent struct {
	Version uint64  `json:"version"`
	Content *string `json:"content"` // required; nil: the peer's answer has another form
}

// ThreadStat answers `stat`.
type ThreadStat struct {
	Exists      bool `json:"exists"`
	IsDirectory bool `json:"isDirectory"`
}

// GlobSearch holds the params of `globSearch`.
type GlobSearch struct {
	ThreadID string `json:"threadId"`
	Pattern  string `json:"pattern"`
}

// GlobSearchResponse answers `globSearch`.
type GlobSearchResponse struct {
	Matches []string `json:"matches"`
}
