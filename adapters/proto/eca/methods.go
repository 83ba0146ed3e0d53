package eca

// Requests of the client.
const (
	MethodInitialize    = "initialize"
	MethodShutdown      = "shutdown"
	MethodPrompt        = "chat/prompt"
	MethodQueryContext  = "chat/queryContext"
	MethodQueryFiles    = "chat/queryFiles" // not in 000 and 001
	MethodQueryCommands = "chat/queryCommands"
	MethodClear         = "chat/clear"  // not in 000 and 001
	MethodUpdate        = "chat/update" // not in 000 and 001
	MethodList          = "chat/list"   // not in 000 and 001
	MethodOpen          = "chat/open"   // not in 000 and 001
	MethodDelete        = "chat/delete"
	MethodRollback      = "chat/rollback"   // not in 000 and 001
	MethodAddFlag       = "chat/addFlag"    // not in 000 and 001
	MethodRemoveFlag    = "chat/removeFlag" // not in 000 and 001
	MethodFork          = "chat/fork"       // not in 000 and 001
	MethodHistory       = "chat/history"    // not in 000 and 001
	MethodProvidersList = "providers/list"  // not in 000 and 001
	MethodJobsList      = "jobs/list"       // not in 000 and 001

	MethodProvidersLogin  = "providers/login"      // not in 000 and 001
	MethodProvidersInput  = "providers/loginInput" // not in 000 and 001
	MethodProvidersLogout = "providers/logout"     // not in 000 and 001
	MethodJobsKill        = "jobs/kill"            // not in 000 and 001
	MethodJobsReadOutput  = "jobs/readOutput"      // not in 000 and 001
	MethodCompletion      = "completion/inline"    // not in 000 and 001
	MethodRewrite         = "rewrite/prompt"       // not in 000 and 001

	MethodServerUpdate = "mcp/updateServer" // not in 000 and 001
	MethodServerAdd    = "mcp/addServer"    // not in 000 and 001
	MethodServerRemove = "mcp/removeServer" // not in 000 and 001
)

// Notifications of the client.
const (
	MethodInitialized      = "initialized"
	MethodExit             = "exit"
	MethodFoldersChanged   = "workspace/didChangeWorkspaceFolders" // undocumented
	MethodApprove          = "chat/toolCallApprove"
	MethodReject           = "chat/toolCallReject"
	MethodPromptStop       = "chat/promptStop"
	MethodPromptSteer      = "chat/promptSteer"             // not in 000 and 001
	MethodSteerRemove      = "chat/promptSteerRemove"       // not in 000 and 001
	MethodModelSelected    = "chat/selectedModelChanged"    // not in 000 and 001
	MethodAgentSelected    = "chat/selectedAgentChanged"    // not in 000 and 001
	MethodBehaviorSelected = "chat/selectedBehaviorChanged" // of 000

	MethodServerStart   = "mcp/startServer"
	MethodServerStop    = "mcp/stopServer"
	MethodServerConnect = "mcp/connectServer" // not in 000 and 001
	MethodServerLogout  = "mcp/logoutServer"  // not in 000 and 001
	MethodServerDisable = "mcp/disableServer" // not in 000 and 001
	MethodServerEnable  = "mcp/enableServer"  // not in 000 and 001
)

// Requests of the server.
const (
	MethodAskQuestion    = "chat/askQuestion"      // not in 000 and 001
	MethodGetDiagnostics = "editor/getDiagnostics" // not in 001
	MethodGetDefinition  = "editor/getDefinition"  // not in 000 and 001
	MethodGetReferences  = "editor/getReferences"  // not in 000 and 001
)

// Notifications of the server.
const (
	MethodContentReceived = "chat/contentReceived"
	MethodCleared         = "chat/cleared"       // not in 000 and 001
	MethodOpened          = "chat/opened"        // not in 000 and 001
	MethodStatusChanged   = "chat/statusChanged" // not in 000 and 001
	MethodDeleted         = "chat/deleted"       // not in 000 and 001
	MethodConfigUpdated   = "config/updated"     // not in 001
	MethodServerUpdated   = "tool/serverUpdated"
	MethodServerRemoved   = "tool/serverRemoved" // not in 000 and 001
	MethodProgress        = "$/progress"         // not in 000 and 001
	MethodShowMessage     = "$/showMessage"

	MethodProvidersUpdated = "providers/updated"       // not in 000 and 001
	MethodJobsUpdated      = "jobs/updated"            // not in 000 and 001
	MethodRewriteContent   = "rewrite/contentReceived" // not in 000 and 001
)
