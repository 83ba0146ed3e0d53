package setup

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"dragoman/core/inference"
)

// A service is asked for its models after the request that has made the profile, and what it lists
// is announced. Connections with other settings get it too.
func TestListedModelsAreAnnounced(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(`{"data": [{"id": "a"}]}`))
	}))
	defer srv.Close()
	r := newRoom(t, nil, nil)
	r.configure("providers: {house: {base_url: " + srv.URL + "}}\n")
	offered := func(c *Client) bool {
		p, err := c.Profile(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(inference.ModelsOf(p).List, func(i inference.ModelInfo) bool { return i.ID == "house/a" })
	}
	other := r.profiles.process.Client(ClientOptions{Principal: "other", Quiet: true})
	defer other.Close()
	r.profiles.edition().ask(t.Context())
	if offered(r.profiles) || offered(other) || asked > 0 {
		t.Error("somebody was asked before the first profile")
	}
	var since uint64
	r.posted(&since)
	r.profiles.edition().ask(t.Context())
	if kinds := r.posted(&since); len(kinds) > 0 || asked > 0 {
		t.Errorf("the request may be unanswered: %v, asked %d times", kinds, asked)
	}
	r.profiles.edition().ask(t.Context())
	if kinds := r.posted(&since); !slices.Contains(kinds, "models") || asked != 1 || !offered(r.profiles) {
		t.Errorf("posted %v, asked %d times", kinds, asked)
	}
	other.edition().ask(t.Context())
	other.edition().ask(t.Context())
	if !offered(other) || asked != 1 {
		t.Errorf("another connection; asked %d times", asked)
	}
	for range 3 {
		r.profiles.edition().ask(t.Context())
	}
	if kinds := r.posted(&since); asked != 1 || slices.Contains(kinds, "models") && other.edition() == r.profiles.edition() {
		t.Errorf("asked %d times, posted %v", asked, kinds)
	}
}
