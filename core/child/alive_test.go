package child

import (
	"math"
	"os"
	"testing"
)

func TestAlive(t *testing.T) {
	if !Alive(os.Getpid()) {
		t.Error("this process is not there")
	}
	if Alive(math.MaxInt32) { // beyond what any system gives out
		t.Error("a process that nobody has started is there")
	}
}
