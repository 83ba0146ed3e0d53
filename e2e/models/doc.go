// Package models runs the suite of models (core/coretest) over npm's aimock, a mock
// server that speaks the wire formats of services: a second opinion of how they do.
// What aimock cannot play is in core/llm's own tests. Without Node and npm the tests
// are skipped and say so; with CI=true that is a failure.
package models
