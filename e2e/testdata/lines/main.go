// Lines starts a program and copies lines to it and back, and does nothing else: what any
// program between a client and a server costs.
package main

import (
	"bufio"
	"errors"
	"io"
	"log"
	"os"
	"os/exec"
	"sync"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: lines PROGRAM [ARGUMENT…]")
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func run(program string, args []string) error {
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var both sync.WaitGroup
	var up, down error
	both.Go(func() {
		up = pass(in, os.Stdin)
		in.Close()
	})
	both.Go(func() { down = pass(os.Stdout, out) })
	both.Wait()
	return errors.Join(up, down, cmd.Wait())
}

// pass copies lines until the stream ends. What is there at once is written at once.
func pass(to io.Writer, from io.Reader) error {
	r := bufio.NewReaderSize(from, 64<<10)
	w := bufio.NewWriterSize(to, 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return w.Flush()
		case err != nil:
			return err
		}
		if r.Buffered() > 0 {
			continue
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
}
