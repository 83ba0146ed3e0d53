package loop

import (
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// An answer without a word is not silent for the user.
func TestEmptyAnswersAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, coretest.NewScript(coretest.Answer{}.Think("hm"), coretest.Answer{}.Say("word")), setup{})
		defer r.close()
		for i, want := range []int{1, 0} {
			id, told := r.prompt("hi"), 0
			for _, ev := range r.read(func(ev core.Event) bool { e, ok := ev.(core.TurnEnded); return ok && e.Turn == id }) {
				if n, ok := ev.(core.Notice); ok && strings.Contains(n.Text, "script/model ended its answer without a word") {
					told++
				}
			}
			if told != want {
				t.Errorf("answer %d: %d notices, want %d", i+1, told, want)
			}
		}
	})
}
