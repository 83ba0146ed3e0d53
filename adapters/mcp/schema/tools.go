package schema

import (
	"encoding/json"
	"strings"

	"dragoman/core/display"
)

// maxAgents limits the text that names the agents, in characters.
const maxAgents = 500

// PromptInput returns the schema of agent_prompt's arguments. agents are the names of the agents, the
// default one first; nil: they are not known. All of this file is sent in tools/list.
func PromptInput(agents []string) string {
	if len(agents) == 0 {
		return promptInput
	}
	text := "Who answers: " + display.Line(strings.Join(agents, ", "), maxAgents) + "; omit for " + agents[0] + "."
	b, err := json.Marshal(text)
	if err != nil { // texts can always be encoded
		return promptInput
	}
	return strings.Replace(promptInput, someAgents, string(b), 1)
}

// someAgents describes the argument agent where the names are not known.
const someAgents = `"Who answers, such as code or plan; omit for the default."`

const promptInput = `{"type":"object","additionalProperties":false,"required":["prompt"],"properties":{
"prompt":{"type":"string","minLength":1,"description":"The task or question, with all that the agent needs to know; it does not see your conversation."},
"session_id":{"type":"string","description":"Continue this session; omit to start one."},
"cwd":{"type":"string","maxLength":4096,"description":"Absolute directory; must lie within the roots the gateway allows."},
"agent":{"type":"string","description":` + someAgents + `},"model":{"type":"string","description":"PROVIDER/MODEL; omit for the one that is configured. The argument model of the prompt model completes to those that there are. For an external agent, one of the values of its own option of models."},
"options":{"type":"object","additionalProperties":{"type":["string","boolean"]},"description":"Options of an external agent by their ids, such as its mode; session_get lists them. They stay for the session."},"mode":{"type":"string","description":"The same as agent."},
"approvals":{"type":"string","enum":["ask","deny","read-only","auto"],"default":"ask","description":"What happens to tool calls that need approval: ask (the user, or you through agent_approve), deny (each is refused), read-only (each is refused, and so is whatever writes or runs) or auto (each is approved, if the gateway allows that)."},
"context":{"type":"array","items":{"type":"string"},"description":"Resource or file URIs to attach."},
"wait_seconds":{"type":"integer","minimum":0,"maximum":3600,"default":50,"description":"How long to wait for the turn's end. 0: return at once, and follow it with agent_wait."}}}`

// TurnOutput returns the schema of the results of agent_prompt and agent_wait.
func TurnOutput(more string) string {
	return `{"type":"object","required":["session_id","turn_id","status","text"],"properties":{
"session_id":{"type":"string"},"turn_id":{"type":"string"},
"status":{"type":"string","enum":["completed","running","awaiting_approval","cancelled","refused","max_turns","failed"]},
"text":{"type":"string"},"next":{"type":"string","description":"The tool to call next.","enum":["agent_wait","agent_approve"]},"stop_reason":{"type":"string"},"prompted_by":{"type":"string","description":"Another client that has prompted the turn."},
"tool_calls":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},"status":{"type":"string"},"summary":{"type":"string"}}}},
"pending_approvals":{"type":"array","items":{"type":"object","properties":{"approval_id":{"type":"string"},"tool":{"type":"string"},"summary":{"type":"string"},"options":{"type":"array","description":"The decisions that agent_approve takes.","items":{"type":"string"}},"choices":{"type":"array","description":"The agent's own answers that agent_approve takes.","items":{"type":"object","properties":{"option_id":{"type":"string"},"label":{"type":"string"},"decision":{"type":"string"}}}},"note":{"type":"string","description":"Why it takes no other decisions."}}}},
"pending_questions":{"type":"array","items":{"type":"object","properties":{"approval_id":{"type":"string"},"question":{"type":"string"},"options":{"type":"array","items":{"type":"string"}},"freeform":{"type":"boolean"},"note":{"type":"string","description":"Why agent_approve can only reject the question."}}}},
"usage":{"type":"object"}` + more + `}}`
}

// WaitInput is the schema of agent_wait's arguments.
const WaitInput = `{"type":"object","additionalProperties":false,"required":["session_id"],"properties":{
"session_id":{"type":"string"},
"turn_id":{"type":"string","description":"Omit for the newest turn."},
"after":{"type":"string","description":"Cursor of an earlier agent_wait: only later events are returned."},
"wait_seconds":{"type":"integer","minimum":0,"maximum":3600,"default":50,"description":"How long to wait for the turn's end. 0: return at once, and follow it with agent_wait."}}}`

// WaitMore lists the members that agent_wait returns in addition to agent_prompt's.
const WaitMore = `,
"events":{"type":"array","items":{"type":"object","required":["type"],"properties":{"type":{"type":"string","enum":["text","thought","tool","approval","question","plan","notice","ended"]},"text":{"type":"string"},"id":{"type":"string"},"name":{"type":"string"},"status":{"type":"string"}}}},
"cursor":{"type":"string","description":"Pass it as after to get what comes next."}`

// CancelInput is the schema of agent_cancel's arguments.
const CancelInput = `{"type":"object","additionalProperties":false,"required":["session_id"],"properties":{
"session_id":{"type":"string"},
"turn_id":{"type":"string","description":"Omit for whatever runs now."}}}`

// CancelOutput is the schema of agent_cancel's result.
const CancelOutput = `{"type":"object","required":["session_id","cancelled"],"properties":{
"session_id":{"type":"string"},"cancelled":{"type":"boolean","description":"Whether there was something to stop."}}}`

// ApproveInput is the schema of agent_approve's arguments.
const ApproveInput = `{"type":"object","additionalProperties":false,"required":["session_id","approval_id"],"properties":{
"session_id":{"type":"string"},"approval_id":{"type":"string"},
"decision":{"type":"string","enum":["allow_once","allow_always","reject_once","reject_always"],"description":"What the user said to an approval; always is for this session. To a question only reject_once: the user does not want to answer."},
"option_id":{"type":"string","description":"Instead of decision, where the approval lists choices: the one of them that the user chose."},
"answer":{"type":"string","description":"What the user said to a question: one of its options, or a text where it is freeform."},
"note":{"type":"string","description":"A word of the user's to the agent."}}}`

// ApproveOutput is the schema of agent_approve's result.
const ApproveOutput = `{"type":"object","required":["session_id","approval_id"],"properties":{
"session_id":{"type":"string"},"approval_id":{"type":"string"},"decision":{"type":"string"},"option_id":{"type":"string"},"answer":{"type":"string"},"next":{"type":"string","description":"The tool to call next."}}}`

// ListInput is the schema of session_list's arguments.
const ListInput = `{"type":"object","additionalProperties":false,"properties":{
"cwd":{"type":"string","maxLength":4096},
"limit":{"type":"integer","minimum":1,"maximum":200,"default":50},
"cursor":{"type":"string"}}}`

// ListOutput is the schema of session_list's result.
const ListOutput = `{"type":"object","required":["sessions"],"properties":{
"sessions":{"type":"array","items":{"type":"object","required":["session_id","cwd","status"],"properties":{"session_id":{"type":"string"},"title":{"type":"string"},"cwd":{"type":"string"},"status":{"type":"string","enum":["idle","running","awaiting_approval"]},"updated_at":{"type":"string"},"model":{"type":"string"}}}},
"next_cursor":{"type":"string"}}}`

// GetInput is the schema of session_get's arguments.
const GetInput = `{"type":"object","additionalProperties":false,"required":["session_id"],"properties":{
"session_id":{"type":"string"},
"after":{"type":"string","description":"Cursor of an earlier session_get."},
"limit":{"type":"integer","minimum":1,"maximum":500,"default":50}}}`

// GetOutput is the schema of session_get's result.
const GetOutput = `{"type":"object","required":["session_id","cwd","status","entries","cursor","more"],"properties":{
"session_id":{"type":"string"},"title":{"type":"string"},"cwd":{"type":"string"},"model":{"type":"string"},"updated_at":{"type":"string"},
"status":{"type":"string","enum":["idle","running","awaiting_approval"]},"turn_id":{"type":"string","description":"The turn that runs."},"missing":{"type":"string","description":"What the session has lost, and what to do."},
"agent":{"type":"string"},"clients":{"type":"array","description":"Others that are attached to the session.","items":{"type":"string"}},
"options":{"type":"array","description":"What agent_prompt takes as options of an external agent.","items":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},"value":{"type":"string"},"values":{"type":"array","items":{"type":"string"}}}}},
"entries":{"type":"array","items":{"type":"object","required":["type"],"properties":{"type":{"type":"string","enum":["user","agent","tool","plan","notice","ended"]},"turn_id":{"type":"string"},"text":{"type":"string"},"name":{"type":"string"},"status":{"type":"string"}}}},
"cursor":{"type":"string"},"more":{"type":"boolean"}}}`

// CloseInput is the schema of session_close's arguments.
const CloseInput = `{"type":"object","additionalProperties":false,"required":["session_id"],"properties":{
"session_id":{"type":"string"},
"delete":{"type":"boolean","default":false,"description":"Remove the session and all that was said in it."}}}`

// CloseOutput is the schema of session_close's result.
const CloseOutput = `{"type":"object","required":["session_id","deleted"],"properties":{
"session_id":{"type":"string"},"deleted":{"type":"boolean"}}}`
