package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// profiled adds the flag that has the program serve profiles of itself, if they are wanted. Each process
// gets a socket of its own.
func (b *bench) profiled(args []string) []string {
	if b.profiles == "" || args[0] != b.dragoman {
		return args
	}
	b.sockets++
	return append(slices.Clone(args), "--pprof", "unix:"+b.socket())
}

// socket returns the socket of the process that profiled was last called for.
func (b *bench) socket() string { return filepath.Join(b.tmp, fmt.Sprintf("s%d", b.sockets)) }

// fetch keeps a profile of the program that was started last, until it ends. What it returns is closed
// then.
func (b *bench) fetch(args []string) <-chan struct{} {
	done := make(chan struct{})
	if b.profiles == "" || args[0] != b.dragoman {
		close(done)
		return done
	}
	socket, to := b.socket(), filepath.Join(b.profiles, fmt.Sprintf("%d.pb.gz", b.sockets))
	go func() {
		defer close(done)
		if err := profile(socket, to); err != nil {
			fail(err)
		}
	}()
	return done
}

// profile keeps a profile of what a process does until it ends.
func profile(socket, to string) error {
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		for {
			c, err := d.DialContext(ctx, "unix", socket)
			if err == nil || ctx.Err() != nil {
				return c, err
			}
			time.Sleep(time.Millisecond) // it is starting
		}
	}}}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://dragoman/debug/pprof/profile?seconds=600", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("profile: %s: %s", resp.Status, data)
	}
	return os.WriteFile(to, data, 0o600)
}
