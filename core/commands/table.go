package commands

import (
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// BuiltIn is a command that is always available.
type BuiltIn struct {
	core.Command
	// Prompt returns the command's text for the model, in the folders of a workspace; nil: the
	// command shows something or acts.
	Prompt func(folders []string) string
}

// Table lists the built-in commands.
func Table() []BuiltIn {
	optional := func(name, description string) []core.Argument {
		return []core.Argument{{Name: name, Description: description}}
	}
	list := []BuiltIn{
		{
			Command: core.Command{
				Name:        "init",
				Description: "Look at the workspace and write, or improve, its AGENTS.md",
				Arguments:   optional("arguments", "what to pay attention to"),
				Yields:      true,
			},
			Prompt: initPrompt,
		},
		{
			Command: core.Command{
				Name:        "login",
				Description: "Log in to an external agent, or give the key of a provider of models",
				Arguments:   optional("name", "an agent's or a provider's, such as openai"),
			},
		},
		{
			Command: core.Command{
				Name:        core.CommandAllow,
				Description: "Allow for good, in this folder, what was just allowed",
				Unlisted:    true,
			},
		},
		{
			Command: core.Command{
				Name:        "agent",
				Description: "Choose the agent of this session, or list the agents",
				Arguments:   optional("agent", "its name"),
			},
		},
		{
			Command: core.Command{
				Name:        "model",
				Description: "Choose the model of this session, or list the models",
				Arguments:   optional("model", "PROVIDER/MODEL"),
			},
		},
		{Command: core.Command{Name: "costs", Description: "Show the tokens that this session used, and what they cost"}},
		{Command: core.Command{Name: "context", Description: "Show how full the model's context window is, and with what", Yields: true}},
		{
			Command: core.Command{
				Name:        "compact",
				Description: "Replace the conversation so far by a summary, to make room",
				Arguments:   optional("focus", "what the summary has to keep"),
				Needs:       core.CanCompact,
				Yields:      true,
			},
		},
		{
			Command: core.Command{
				Name:        "rename",
				Description: "Give this session a title",
				Arguments:   []core.Argument{{Name: "title", Description: "the new title", Required: true}},
			},
		},
		{Command: core.Command{Name: "fork", Description: "Go on in a copy of this session", Needs: core.CanFork}},
		{
			Command: core.Command{
				Name:        "resume",
				Description: "Go on with an earlier session, or list them",
				Arguments:   optional("session", "its id, or latest"),
			},
		},
		{
			Command: core.Command{
				Name:        "export",
				Description: "Write this session into a file",
				Arguments:   optional("file", "where to write it"),
			},
		},
		{
			Command: core.Command{
				Name:        "rules",
				Description: "List the rules that files tell the agent, and when they apply",
				Yields:      true,
			},
		},
		{Command: core.Command{Name: "skills", Description: "List the skills", Yields: true}},
		{
			Command: core.Command{
				Name:        "doctor",
				Description: "Check the configuration, the models and the files for the agent",
			},
		},
		{Command: core.Command{Name: "config", Description: "Show the configuration in use, without its secrets"}},
	}
	for i := range list {
		list[i].Kind = core.CommandBuiltin
	}
	return list
}

// initPrompt is the text of /init.
func initPrompt(folders []string) string { return initBegin + initFolders(folders) + initRest }

// initFolders returns the part of it with the folders.
func initFolders(folders []string) string {
	if len(folders) < 2 {
		return "\n"
	}
	var b strings.Builder
	b.WriteString(
		"The workspace has several folders; look at each, and ask the user which of them the file belongs to:\n",
	)
	for _, dir := range folders {
		b.WriteString("- " + display.Visible(dir) + "\n")
	}
	return b.String() + "\n"
}

const initBegin = `Write the file AGENTS.md in the workspace's main folder: what an agent that is new to this project has to know to work in it well. If there is one already, improve it, and keep what is right in it.
`

const initRest = `# First look
Read before you write; a file's name proves nothing.
- What builds, tests, formats and checks the project: the manifests, make files, scripts, and what the continuous integration runs.
- What people are told: the README, the guide for contributors, the notes on design.
- What other agents were told: CLAUDE.md, .cursor/rules, .cursorrules, .github/copilot-instructions.md, .windsurfrules and the like. Take over what still holds.
- A few of the central source files, and their tests, for the style that is really used.

# Then write
Keep a line only if an agent would do worse without it. A page is good, two are much.
- The commands to build, to test everything, to run one single test, to format and to check; exactly as they are typed, and from which folder.
- How the project is put together, where that cannot be seen from the names of its folders: the main parts, who may use whom, what is generated and must not be edited.
- Where its style differs from what is usual in its language.
- What goes wrong easily: services or variables that must be there, slow or flaky tests, steps in an order.
- What is agreed on: branches, commits, reviews, change logs.

Leave out what every programmer knows, lists of files, praise, and whatever changes from week to week. Invent nothing: what you could not find out, leave out or ask the user. Short sections with short points.

When you are done say in a few lines what you wrote, and what you could not check.
`
