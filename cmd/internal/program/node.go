package program

import (
	"fmt"
	"os"
	"time"
)

// ShutdownFor is how long open sessions may take to end and be stored.
const ShutdownFor = 5 * time.Second

// Node names this process for people who meet its locks.
func Node() string {
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}
