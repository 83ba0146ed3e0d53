package rawinput

import "slices"

// The names of members by which agents' own tools run commands, touch files and fetch.
var (
	commandNames = []string{"command", "cmd", "commands", "script", "shell_command", "shellCommand", "command_line", "commandLine"}
	wordsNames   = []string{"args", "arguments"}
	folderNames  = []string{
		"cwd", "workdir", "working_directory", "workingDirectory", "working_dir", "workingDir", "dir_path", "dirPath", "directory", "dir",
	}
	fileNames = []string{
		"file_path", "filePath", "filepath", "path", "paths", "absolute_path", "absolutePath", "notebook_path", "notebookPath",
		"file", "files", "filename", "file_name", "fileName", "target_file", "targetFile", "destination", "move_path", "movePath",
		"old_path", "oldPath", "new_path", "newPath", "grant_root",
	}
	movedNames = []string{"from", "to", "source", "target", "src", "dst"}
)

const (
	addressName   = "url"
	changesName   = "changes"
	variablesName = "env"
)

var (
	// repeatNames are members that repeat or comment on what others say, as Codex has them.
	repeatNames = []string{
		"parsed_cmd", "parsedCmd", "command_actions", "commandActions",
		"proposed_execpolicy_amendment", "proposedExecpolicyAmendment", "available_decisions", "availableDecisions",
	}
	// wordingNames are members with words for people or models, or the content of files.
	wordingNames = []string{
		"content", "contents", "text", "description", "prompt", "query", "reason", "explanation", "title", "instruction", "instructions",
		"patch", "patchText", "diff", "unified_diff", "old_string", "oldString", "old_str", "old_text", "oldText",
		"new_string", "newString", "new_str", "new_text", "newText",
	}
)

// Effects lists the names of all members by which a call has an effect.
func Effects() []string {
	return slices.Concat(commandNames, folderNames, fileNames, []string{addressName, changesName})
}
