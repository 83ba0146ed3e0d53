package loop

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// What a service has refused is named to the user once, and left out of every later request to that model, also after
// the log was read again.
func TestRefusedPartsAreNamedAndRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shot := core.Image{MIME: "image/png", Data: []byte("tiny")}
		mine := core.Image{MIME: "image/png", Data: []byte("mine"), URI: "file:///w/p.png"}
		taking := tool("shot", func(context.Context, core.Invocation) (core.Result, error) {
			return core.Result{Blocks: []core.Block{core.Text{Text: "here"}, shot}}, nil
		})
		keys := []string{inference.PictureKey(shot), inference.PictureKey(mine), inference.ToolKey("shot")}
		script := coretest.NewScript(
			coretest.Answer{}.Call("x1", "shot", `{}`),
			coretest.Answer{}.With(inference.Delta{
				Kind: inference.DeltaRefused, Refused: keys,
				Bad: &inference.Error{Kind: inference.ErrBadRequest, Status: 400, Model: "script/model", Message: "Image must be at least 512 pixels", Hint: "advice"},
			}).Call("x2", "shot", `{}`),
			coretest.Answer{}.Say("done"), coretest.Answer{}.Say("plain"),
		)
		r := start(t, script, setup{tools: []core.Tool{taking}})
		defer r.close()
		id, err := r.session.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: "look at this\nplease"}, mine, core.Image{MIME: "image/png", Data: []byte("other")}}})
		if err != nil {
			t.Fatal(err)
		}
		var found []core.Notice
		for _, ev := range r.read(func(ev core.Event) bool { e, ok := ev.(core.TurnEnded); return ok && e.Turn == id }) {
			if n, ok := ev.(core.Notice); ok {
				found = append(found, n)
			}
		}
		want := "script/model refused the picture that shot returned, picture 1 of 2 p.png of the message “look at this” and the tool shot: " +
			"bad request (HTTP 400): Image must be at least 512 pixels. They are left out of the requests to this model from now on. Other models get everything."
		if len(found) != 1 || found[0].Text != want || found[0].Severity != core.Warning {
			t.Fatalf("notices %+v\nwant %s", found, want)
		}
		r.finish(r.prompt("a plain prompt"))
		for i, req := range script.Requests() {
			if got := req.Refused["script/model"]; (i < 2) != (got == nil) || i >= 2 && !slices.Equal(got, keys) {
				t.Errorf("request %d leaves out %v", i, got)
			}
		}
		log, err := r.store.Open(t.Context(), core.Local, "s")
		if err != nil {
			t.Fatal(err)
		}
		again := &history{}
		if _, err := again.follow(log.Read(t.Context(), core.Pos{})); err != nil || !slices.Equal(again.refused["script/model"], keys) {
			t.Errorf("after reading the log again: %v, %v", again.refused, err)
		}
	})
}

// Pictures that a model does not accept are left out of its requests beforehand, also those in resources.
func TestPicturesInResourcesAreLeftOutForModelsWithoutThem(t *testing.T) {
	list := withoutImages([]inference.Message{{Role: inference.RoleUser, Blocks: []core.Block{
		core.Resource{URI: "file:///w/a.png", MIME: "image/png", Blob: []byte("x")}, core.Resource{URI: "file:///w/a.txt", MIME: "text/plain", Text: "x"},
	}}}, inference.ModelInfo{ID: "a/b"})
	if text, ok := list[0].Blocks[0].(core.Text); !ok || !strings.Contains(text.Text, "a/b") {
		t.Errorf("the picture is %+v", list[0].Blocks[0])
	}
	if _, ok := list[0].Blocks[1].(core.Resource); !ok {
		t.Errorf("the text is %+v", list[0].Blocks[1])
	}
}
