// Package elsewhere has the sessions that external agents have by themselves: the lists that were last
// seen of them, and a store that shows them beside ours. No agent is started for a list.
package elsewhere
