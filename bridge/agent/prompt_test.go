package agent_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"dragoman/bridge/agent/agenttest"
	"dragoman/core"
)

// heard returns the blocks of a prompt as the agent has got them.
func (c *chat) heard(blocks ...core.Block) (list []map[string]any) {
	c.t.Helper()
	said, end := c.say("heard", blocks...)
	if err := json.Unmarshal([]byte(said), &list); err != nil || end.Stop != core.StopEnd {
		c.t.Fatalf("%q: %v, %+v", said, err, end)
	}
	return list
}

func TestImagesAndResources(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\nnot really")
	image := core.Image{Data: png, MIME: "image/png"}
	resource := core.Resource{URI: "zed:///x", MIME: "text/plain", Text: "the resource's text"}

	c := one(t, agenttest.Options{Images: true, Resources: true})
	list := c.heard(image, resource)
	if len(list) != 3 || list[1]["type"] != "image" || list[1]["data"] != base64.StdEncoding.EncodeToString(png) || list[2]["type"] != "resource" {
		t.Errorf("%v", list)
	}

	// An agent that takes neither gets a file and the text, and the user is told.
	c = one(t, agenttest.Options{})
	list = c.heard(image, resource)
	all, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, b := range list {
		uri, _ := b["uri"].(string)
		text, _ := b["text"].(string)
		for _, word := range strings.Fields(uri + " " + text) {
			word = strings.Trim(strings.TrimPrefix(word, "file://"), "`'\",.:;()<>[]")
			if b, err := os.ReadFile(word); err == nil && string(b) == string(png) {
				found = true
			}
		}
		if b["type"] == "image" || b["type"] == "resource" {
			t.Errorf("%v", b)
		}
	}
	if !found || !strings.Contains(string(all), "the resource's text") {
		t.Errorf("%s", all)
	}
	if got := c.notices(); !strings.Contains(got, "image") {
		t.Errorf("notices: %q", got)
	}
}
