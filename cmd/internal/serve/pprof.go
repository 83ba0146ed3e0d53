package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	pprofDefault = 30 * time.Second // how long a profile takes if the request does not say
	pprofLongest = 10 * time.Minute
	pprofEnd     = time.Second // how long requests have to end with the program
)

// withProfiles lets f run while profiles of the process are served at a place; empty: they are not.
// What is served says nothing of what is in memory: stacks, sizes and times.
func withProfiles(ctx context.Context, at string, log *zap.Logger, f func() error) error {
	if at == "" {
		return f()
	}
	path, ok := strings.CutPrefix(at, "unix:")
	if !ok || path == "" {
		return fmt.Errorf("--pprof takes unix:PATH, not %q: profiles are for this user alone", at)
	}
	l, err := listenPrivately(ctx, path)
	if err != nil {
		return fmt.Errorf("--pprof: %w", err)
	}
	runtime.MemProfileRate = 512 << 10 // Go's default
	ctx, enough := context.WithCancel(ctx)
	var open sync.WaitGroup // requests, which Shutdown does not wait for once it has given up
	mux := profiles()
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			open.Add(1)
			defer open.Done()
			mux.ServeHTTP(w, r)
		}),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: pprofDefault,
		ErrorLog:          zap.NewStdLog(log),
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("profiles are not served any more", zap.Error(err))
		}
	})
	defer func() {
		enough()
		last, done := context.WithTimeout(context.WithoutCancel(ctx), pprofEnd)
		defer done()
		if s.Shutdown(last) != nil {
			s.Close() //nolint:errcheck // this closes connections that are still open
		}
		serving.Wait()
		open.Wait()
	}()
	return f()
}

// profiles returns the handlers of net/http/pprof, on the paths that "go tool pprof" knows. That
// package is not used because it registers them with http.DefaultServeMux, and shows the command line.
func profiles() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "profile\ntrace")
		for _, p := range pprof.Profiles() {
			fmt.Fprintf(w, "%s %d\n", p.Name(), p.Count())
		}
	})
	mux.HandleFunc("GET /debug/pprof/profile", func(w http.ResponseWriter, r *http.Request) {
		during(w, r, pprofDefault, func() error { return pprof.StartCPUProfile(w) }, pprof.StopCPUProfile)
	})
	mux.HandleFunc("GET /debug/pprof/trace", func(w http.ResponseWriter, r *http.Request) {
		during(w, r, time.Second, func() error { return trace.Start(w) }, trace.Stop)
	})
	mux.HandleFunc("GET /debug/pprof/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		p := pprof.Lookup(name)
		if p == nil {
			http.NotFound(w, r)
			return
		}
		debug, _ := strconv.Atoi(r.FormValue("debug")) // 0: in the form of pprof
		write := func() {
			_ = p.WriteTo(w, debug) // who has left is told nothing
		}
		switch name {
		case "heap":
			if r.FormValue("gc") != "" {
				runtime.GC()
			}
			write()
		case "mutex": // costs something while it is on, so it is on while somebody asks
			during(w, r, pprofDefault, func() error { runtime.SetMutexProfileFraction(1); return nil }, func() {
				runtime.SetMutexProfileFraction(0)
				write()
			})
		case "block":
			during(w, r, pprofDefault, func() error { runtime.SetBlockProfileRate(1); return nil }, func() {
				runtime.SetBlockProfileRate(0)
				write()
			})
		default:
			write()
		}
	})
	return mux
}

// during starts something and ends it after the seconds that a request names, or when the client leaves.
func during(w http.ResponseWriter, r *http.Request, usual time.Duration, start func() error, end func()) {
	seconds, err := strconv.ParseFloat(cmp.Or(r.FormValue("seconds"), fmt.Sprint(usual.Seconds())), 64)
	if err != nil || seconds <= 0 || seconds > pprofLongest.Seconds() {
		http.Error(w, fmt.Sprintf("seconds is a number up to %v", pprofLongest.Seconds()), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if err := start(); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	defer end()
	select {
	case <-time.After(time.Duration(seconds * float64(time.Second))):
	case <-r.Context().Done():
	}
}
