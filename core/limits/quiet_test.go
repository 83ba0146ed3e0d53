package limits

import (
	"strconv"
	"testing"
	"time"
)

// The sessions whose agents have given no figures are not kept for ever.
func TestQuietAgentsAreBounded(t *testing.T) {
	k := kept{New("", time.Now), Rules{Cost: Amounts{Turn: 1}}}
	for i := range 3 * maxQuiet {
		if _, err := k.lacks(strconv.Itoa(i), "agent"); err != nil || len(k.quiet) > maxQuiet {
			t.Fatalf("%d are kept, %v", len(k.quiet), err)
		}
	}
}
