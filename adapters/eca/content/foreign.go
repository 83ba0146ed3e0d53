package content

import (
	"encoding/json"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
)

// protocol names the protocol in core.Foreign, and in the metadata of calls.
const protocol = "eca"

// Foreign returns the content of an ECA server behind the gateway for which core has no event; nil: it is none.
func Foreign(e core.Foreign) (role eca.Role, raw json.RawMessage) {
	var is struct {
		Role    eca.Role        `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if e.Protocol != protocol || e.Method != "" || json.Unmarshal(e.Raw, &is) != nil || len(is.Content) == 0 || is.Content[0] != '{' {
		return "", nil
	}
	switch is.Role {
	case eca.RoleUser, eca.RoleSystem, eca.RoleAssistant:
		return is.Role, is.Content
	}
	return "", nil
}

// Kept returns the details of a call of an ECA server behind the gateway, if they are none that we make ourselves;
// nil: there are none.
func Kept(now core.Call) json.RawMessage {
	var meta struct {
		ECA struct {
			Details json.RawMessage `json:"details"`
		} `json:"eca"`
	}
	var is struct {
		Type string `json:"type"`
	}
	if len(now.Meta) == 0 || json.Unmarshal(now.Meta, &meta) != nil || json.Unmarshal(meta.ECA.Details, &is) != nil {
		return nil
	}
	switch is.Type {
	case "", eca.TypeFileChange, eca.TypeSubagent, eca.TypeTask: // they name paths and chats, which are others here
		return nil
	}
	return meta.ECA.Details
}
