package core

import "dragoman/core/internal/usage"

// Usage counts tokens. Cost is in US dollars; nil means unknown, never free.
type Usage = usage.Usage

// Share is the estimated size of a part of a request to a model, in tokens.
type Share = usage.Share
