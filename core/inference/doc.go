// Package inference holds what is asked of a language model, and what it answers.
//
// A [Request] goes to a [Model] with the whole history; the answer comes as [Delta]s, and ends
// with a stop or an [Error]. Tools are offered to a model by names that are legal for every
// provider ([ToolName]). Packages core/llm and core/llm/offline are models, core/loop asks them.
// Core knows models by what they are called and what they cost, and passes them on; whoever is
// given a core.Model asks it through [Of].
package inference
