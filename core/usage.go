package core

import "dragoman/core/internal/usage"

// Usage counts tokens. Cost is in US dollars; nil means unknown, never free.
type Usage = usage.Usage

// ModelUsage is the usage of one model in a session.
type ModelUsage = usage.ModelUsage

// Share is the estimated size of a part of a request to a model, in tokens.
type Share = usage.Share
