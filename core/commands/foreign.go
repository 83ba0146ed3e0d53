package commands

import (
	"fmt"
	"slices"
	"strings"

	"dragoman/core/display"
)

// foreign has commands of other programs that users type here, and those of one face on another, with what
// does the same here.
var foreign = map[string]string{
	"add-dir":            "The folders of a session come from your editor, or are the folder in which dragoman was started.",
	"agents":             "/agent lists the agents and chooses one; \"dragoman agents list\" in a terminal shows more.",
	"approvals":          "\"dragoman policy\" in a terminal lists what is allowed, tests it and takes it back.",
	"bug":                "/export FILE.jsonl writes what happened in this session, for a report.",
	"clear":              "A new session begins with your editor's command for a new chat; in \"dragoman chat\" it is /clear.",
	"continue":           "/resume goes on with an earlier session.",
	"cost":               "It is called /costs.",
	"debug-chat":         "/export FILE.jsonl writes what happened in this session.",
	"diff":               "\"git diff\" in a terminal shows what has changed; your editor shows it for each call.",
	"exit":               "Your editor's command ends the chat; in \"dragoman chat\" it is /exit.",
	"help":               "The list that opens after a slash has the commands; in \"dragoman chat\" it is /help.",
	"hooks":              "There are no hooks.",
	"import":             "\"dragoman sessions import FILE\" in a terminal makes a session of an exported one.",
	"logout":             "\"dragoman logout PROVIDER\" in a terminal removes a key.",
	"mcp":                "\"dragoman mcp-servers\" in a terminal lists, adds and tries MCP servers.",
	"memory":             "Instructions that last are in AGENTS.md; /rules lists what is read.",
	"models":             "It is called /model.",
	"new":                "A new session begins with your editor's command for a new chat; in \"dragoman chat\" it is /clear.",
	"permissions":        "\"dragoman policy\" in a terminal lists what is allowed, tests it and takes it back.",
	"plugins":            "There are no plugins.",
	"prompt-show":        "/context shows what fills a request; /rules shows the instructions in it.",
	"quit":               "Your editor's command ends the chat; in \"dragoman chat\" it is /quit.",
	"remote":             "\"dragoman attach\" joins this session in a terminal; there is no page for it.",
	"repo-map-show":      "There is no map of the repository: the agent lists and searches it with its tools.",
	"reset":              "A new session begins with your editor's command for a new chat; in \"dragoman chat\" it is /clear.",
	"rewind":             "Going back to an earlier message is a command of your editor, where it has one; /fork goes on in a copy.",
	"sessions":           "/resume lists the sessions; \"dragoman sessions list\" in a terminal shows more.",
	"settings":           "/config shows the settings; \"dragoman config path\" in a terminal names the file.",
	"skill-create":       "A skill is a file SKILL.md in a folder of its own below .agents/skills; /skills lists them.",
	"status":             "/context shows the model and how full its window is, /costs what it cost, /doctor what is wrong.",
	"subagents":          "/agent lists the agents; \"dragoman agents list\" in a terminal shows those to which tasks are handed.",
	"sync-system-prompt": "The system prompt follows its files by itself.",
	"tasks":              "Your editor shows the tasks that run; in \"dragoman chat\" they are shown as they happen.",
	"undo":               "Going back to an earlier message is a command of your editor, where it has one; /fork goes on in a copy.",
	"usage":              "It is called /costs.",
}

// unknown answers a name that is no command here: what does the same, or which command is meant. alone says that
// the prompt has nothing but the name; then it is always answered, unless it is a path. "": the prompt is text.
func (c *Commands) unknown(name string, alone bool, have Guide) string {
	if strings.Contains(name, "/") {
		return ""
	}
	said := foreign[name]
	if said == "" {
		var names []string
		for _, known := range have.List() {
			names = append(names, known.Name)
		}
		if alone {
			for other := range foreign {
				names = append(names, other)
			}
			slices.Sort(names)
		}
		if meant := c.Suggest(name, names); meant != "" && !strings.ContainsAny(name, `\.`) {
			said = "Did you mean /" + meant + "?"
		}
	}
	switch {
	case said != "":
	case !alone:
		return ""
	default:
		said = foreign["help"]
	}
	return fmt.Sprintf(
		"There is no command /%s here. %s\n\nNothing was sent to the model. To send it as text, put a word in front of it.\n",
		display.Line(name, 60), said,
	)
}
