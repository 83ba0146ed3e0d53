package fork

import "testing"

func TestTitle(t *testing.T) {
	title := "A chat"
	for n, want := range []string{"A chat (fork)", "A chat (fork 2)", "A chat (fork 3)"} {
		if title = Title(title, n+1); title != want {
			t.Errorf("fork %d: %q", n+1, title)
		}
	}
	if got := Title("", 1); got != "(fork)" {
		t.Errorf("of a chat without a title: %q", got)
	}
}
