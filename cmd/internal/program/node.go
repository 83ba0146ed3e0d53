package program

import (
	"fmt"
	"os"
	"time"
)

// ShutdownFor limits the time in which open sessions end and are stored.
const ShutdownFor = 5 * time.Second

// Node identifies this process for people who see its locks.
func Node() string {
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}
