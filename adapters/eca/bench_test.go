package eca_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/adapters/eca"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

// BenchmarkHistory measures the cost of a turn early and late in a chat's life, from prompt to
// finish, with a call and a store on the disk: the tenth and the thousandth, each the median of
// 21 around it.
func BenchmarkHistory(b *testing.B) {
	var early, late []time.Duration
	for b.Loop() {
		times := play1000(b)
		early, late = append(early, times[:21]...), append(late, times[len(times)-21:]...)
	}
	tenth, last := median(early), median(late)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(tenth.Microseconds()), "µs-10th")
	b.ReportMetric(float64(last.Microseconds()), "µs-1000th")
	b.ReportMetric(float64(last)/float64(tenth), "ratio")
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

func play1000(b *testing.B) (times []time.Duration) {
	b.Helper()
	store := jsonl.New(b.TempDir())
	prof := profile()
	g := core.New(core.Config{Store: store, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
	in, out, peer := wiretest.New(wire.ContentLength)
	served := make(chan error, 1)
	go func() {
		served <- eca.New(eca.Options{Gateway: g, Principal: core.Local, Cwd: "/w"}).Serve(b.Context(), in, out)
	}()
	ask := func(id int, method, params string, until func(string) bool) {
		if err := peer.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)); err != nil {
			b.Fatal(err)
		}
		for {
			raw, err := peer.Next()
			if err != nil {
				b.Fatal(err)
			}
			if until(raw) {
				return
			}
		}
	}
	ask(0, "initialize", fmt.Sprintf(hello, "VsCode", "null"), func(raw string) bool { return strings.Contains(raw, `"id":0,`) })
	if err := peer.Send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`); err != nil {
		b.Fatal(err)
	}
	prompt, err := json.Marshal("say " + strings.Repeat("a line of an answer\n", 20) + " then read a.txt then use")
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1010 {
		began := time.Now()
		ask(i+1, "chat/prompt", `{"chatId":"c","message":`+string(prompt)+`}`, func(raw string) bool { return strings.Contains(raw, `"state":"finished"`) })
		times = append(times, time.Since(began))
	}
	peer.Hangup()
	<-served
	if err := g.Close(b.Context()); err != nil {
		b.Error(err)
	}
	if err := store.Close(); err != nil {
		b.Error(err)
	}
	return times
}
