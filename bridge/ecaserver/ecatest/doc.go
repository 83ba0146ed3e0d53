// Package ecatest is an ECA server that does what prompts tell it, one command a line. It knows nothing of
// dragoman, and writes its messages itself.
//
// Commands of a prompt:
//
//	say TEXT            a text of the assistant; "say $X" says the value of a variable of the environment
//	think TEXT          a thought
//	content ROLE JSON   any content of this chat
//	notify METHOD JSON  any notification; CHAT stands for the id of the chat
//	raw TEXT            bytes, with \r and \n
//	call JSON           a call of a tool: members of its contents, with outputs, error, details, manual
//	ask JSON            chat/askQuestion; the answer is said
//	request METHOD JSON any request; the result is said
//	sub LINE            a sub-agent that does the commands in LINE, which are separated by ";"
//	steer               waits for a message to the turn, and repeats it
//	wait                waits until the turn is stopped
//	deaf                waits, also when the turn is stopped
//	repeat N COMMAND    does a command N times
//	dies                the program ends at once
//	unfinished          the turn is not said to be over
//	fails TEXT          the answer to the prompt is an error, with a text
//	refuses TEXT        the answer to the prompt is an error of JSON-RPC
//	login               the answer to the prompt is that a login is wanted
package ecatest
