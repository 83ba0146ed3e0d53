// Package fidelity describes what is lost where a conversation passes from one protocol to another.
//
// A [Fact] is an event or one of its fields: "ThoughtEnded.Took". The facts are a closed list, made from
// the events of core by reflection ([Facts]). The encoder and the decoder of each protocol have a
// list of the facts that they cannot carry as they are, a list of [Loss], in a package of their own
// beside them. Tests hold these lists: an encoder that drops a fact which is not in its list fails,
// and so does an entry for a fact that is carried after all (package fidelitytest).
//
// A [Topic] is a thing that users know, such as "Thinking time": the facts it is made of. A [Table]
// says for each topic, and for each pair of an agent and a client, what the client gets of it.
//
// # Facts
//
//   - A field of a struct within a field is EVENT.FIELD.FIELD; a list has the facts of its elements.
//   - Content has the facts of its blocks: "CallChanged.Call.Content.Diff.Patch".
//   - What is asked has those of its kind: "Asked.approval.Options.Label".
//   - That an event happened is a fact, with the event's name.
//   - Ids and positions are no facts: each gateway makes its own.
package fidelity
