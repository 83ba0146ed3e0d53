package mcp

// Requests of the client.
const (
	MethodInitialize    = "initialize"      // up to 2025-11-25
	MethodDiscover      = "server/discover" // of 2026-07-28
	MethodPing          = "ping"
	MethodListTools     = "tools/list"
	MethodCallTool      = "tools/call"
	MethodListPrompts   = "prompts/list"
	MethodGetPrompt     = "prompts/get"
	MethodListResources = "resources/list"
	MethodListTemplates = "resources/templates/list"
	MethodReadResource  = "resources/read"
	MethodSubscribe     = "resources/subscribe"   // up to 2025-11-25
	MethodUnsubscribe   = "resources/unsubscribe" // up to 2025-11-25
	MethodListen        = "subscriptions/listen"  // of 2026-07-28
	MethodComplete      = "completion/complete"
	MethodSetLevel      = "logging/setLevel" // up to 2025-11-25
)

// Requests about tasks: of 2026-07-28, the extension Tasks, except those that only 2025-11-25
// has.
const (
	MethodGetTask    = "tasks/get"
	MethodUpdateTask = "tasks/update"
	MethodCancelTask = "tasks/cancel"
	MethodListTasks  = "tasks/list"   // of 2025-11-25
	MethodTaskResult = "tasks/result" // of 2025-11-25
)

// Requests of the server. At 2026-07-28 they are part of a result, as InputRequests.
const (
	MethodElicit = "elicitation/create"
	MethodSample = "sampling/createMessage"
	MethodRoots  = "roots/list"
)

// Notifications.
const (
	NoteInitialized      = "notifications/initialized"
	NoteCancelled        = "notifications/cancelled"
	NoteProgress         = "notifications/progress"
	NoteMessage          = "notifications/message"
	NoteToolsChanged     = "notifications/tools/list_changed"
	NotePromptsChanged   = "notifications/prompts/list_changed"
	NoteResourcesChanged = "notifications/resources/list_changed"
	NoteRootsChanged     = "notifications/roots/list_changed"
	NoteResourceUpdated  = "notifications/resources/updated"
	NoteAcknowledged     = "notifications/subscriptions/acknowledged" // of 2026-07-28
	// NoteEarlyInitialized is NoteInitialized in the early dialect.
	NoteEarlyInitialized = "initialized"
)

// NamesTask reports whether a method is about an existing task, whose id is in the header
// Mcp-Name (extension Tasks, Routing Headers).
func NamesTask(method string) bool {
	switch method {
	case MethodGetTask, MethodUpdateTask, MethodCancelTask:
		return true
	}
	return false
}
