package agent_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"dragoman/bridge/agent"
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

// An agent that runs elsewhere is given its own addresses, and no file of this machine; what it names is
// shown under ours.
func TestContentOfAnAgentElsewhere(t *testing.T) {
	elsewhere := func(o *agent.Options) { o.Paths = map[string]string{"/home/me/my src": "/src"} }
	c := one(t, agenttest.Options{}, elsewhere)
	list := c.heard(
		core.Image{Data: []byte("x"), MIME: "image/png"}, core.Audio{Data: []byte("x"), MIME: "audio/wav"}, core.Resource{Blob: []byte("x"), URI: "zed:///x"},
		core.Resource{URI: "file:///home/me/my%20src/a.txt", Text: "t"}, core.Image{URI: "file:///home/me/my%20src/b.png"},
		core.Link{URI: "file:///home/me/my%20src/c%20d.go#L3"}, core.Link{URI: "https://example.com/home/me/my%20src"}, core.Link{URI: "file:///home/me/other"},
	)
	got, err := json.Marshal(list[1:])
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"text":"[image: it could not be passed on]","type":"text"},{"text":"[sound: it could not be passed on]","type":"text"},` +
		`{"text":"[resource: it could not be passed on]","type":"text"},{"text":"file:///src/a.txt:\n` + "```\\nt\\n```" + `","type":"text"},` +
		`{"name":"file:///src/b.png","type":"resource_link","uri":"file:///src/b.png"},` +
		`{"name":"file:///src/c%20d.go#L3","type":"resource_link","uri":"file:///src/c%20d.go#L3"},` +
		`{"name":"https://example.com/home/me/my%20src","type":"resource_link","uri":"https://example.com/home/me/my%20src"},` +
		`{"name":"file:///home/me/other","type":"resource_link","uri":"file:///home/me/other"}]`
	if string(got) != want {
		t.Errorf("it heard\n%s\nwant\n%s", got, want)
	}
	if told := c.notices(); strings.Count(told, "so it did not get the one in this message") != 3 || strings.Contains(told, "got the file") {
		t.Errorf("the user is told %q", told)
	}
	c = one(t, agenttest.Options{Images: true}, elsewhere)
	if list := c.heard(core.Image{Data: []byte("x"), MIME: "image/png", URI: "file:///home/me/my%20src/b.png"}); list[1]["uri"] != "file:///src/b.png" {
		t.Errorf("%v", list[1])
	}

	c.says(`tool {"toolCallId":"t","title":"look","status":"completed","content":[{"type":"content","content":{"type":"resource_link","uri":"file:///src/c%20d.go","name":"c"}},`+
		`{"type":"content","content":{"type":"resource","resource":{"uri":"file:///src/e","text":"e"}}},{"type":"content","content":{"type":"image","uri":"file:///src","mimeType":"image/png","data":""}}]}`, "")
	var shown []string
	for _, ev := range c.events {
		if e, ok := ev.(core.CallChanged); ok && e.Call.State.Ended() {
			for _, b := range e.Call.Content {
				switch b := b.(type) {
				case core.Link:
					shown = append(shown, b.URI)
				case core.Resource:
					shown = append(shown, b.URI)
				case core.Image:
					shown = append(shown, b.URI)
				}
			}
		}
	}
	if got := strings.Join(shown, " "); got != "file:///home/me/my%20src/c%20d.go file:///home/me/my%20src/e file:///home/me/my%20src" {
		t.Errorf("its call shows %s", got)
	}
}
