// Package inference defines the requests to language models and their answers.
//
// A [Request] goes to a [Model] with the whole history; the answer comes as [Delta]s, and ends
// with a stop or an [Error]. Tools are offered to a model by names that are legal for every
// provider ([ToolName]). Packages core/llm and core/llm/offline are models, core/loop asks them.
// Profiles carry the [Models], and core passes them on without looking at them.
package inference
