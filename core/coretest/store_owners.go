package coretest

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"dragoman/core"
)

func (t *storeTest) twoOwners() {
	a, b := t.store(), t.store()
	j := t.create(a, "s1")
	k := t.open(b, "s1")
	var owned *core.OwnedError

	first := t.claim(j)
	log := t.read(j, core.Pos{})
	add := func(j core.Journal, epoch uint64, ev core.Event) {
		t.Helper()
		r := behind(epoch, log, ev)
		t.write(j, r...)
		log = append(log, r...)
	}
	add(j, first, core.Claimed{Epoch: first})
	if _, err := k.Claim(t.Context()); !errors.As(err, &owned) || owned.Session != "s1" || owned.Node == "" {
		t.Fatalf("Claim of what another owns: %v, want an OwnedError that says who", err)
	}
	if err := k.Write(t.Context(), behind(first, log, core.Notice{})); !errors.Is(err, core.ErrFenced) {
		t.Errorf("Write without a claim: %v, want ErrFenced", err)
	}
	t.same("a viewer", t.read(k, core.Pos{}), log)

	if err := j.Release(); err != nil {
		t.Fatal(err)
	}
	if err := j.Release(); err != nil {
		t.Errorf("a second Release: %v", err)
	}
	if err := j.Write(t.Context(), behind(first, log, core.Notice{})); !errors.Is(err, core.ErrFenced) {
		t.Errorf("Write after Release: %v, want ErrFenced", err)
	}
	second := t.claim(k)
	if second <= first {
		t.Errorf("the second epoch is %d, the first was %d", second, first)
	}
	add(k, second, core.Claimed{Epoch: second, After: log[len(log)-1].End()})
	if _, err := j.Claim(t.Context()); !errors.As(err, &owned) {
		t.Errorf("Claim by the former owner: %v, want an OwnedError", err)
	}
	if err := b.Close(); err != nil { // like the end of the process
		t.Fatal(err)
	}
	third := t.claim(j)
	if third <= second {
		t.Errorf("the third epoch is %d, the second was %d", third, second)
	}
	add(j, third, core.Claimed{Epoch: third, After: log[len(log)-1].End()})
	t.same("three owners", t.read(j, core.Pos{}), log)
}

// manyOwners lets eight processes claim, write and release: there are never two owners
// at once, and no record is lost.
func (t *storeTest) manyOwners() {
	const owners, claims = 8, 20
	t.create(t.store(), "s1")
	var inside, won atomic.Int64
	var wg sync.WaitGroup
	for range owners {
		s := t.store()
		j := t.open(s, "s1")
		wg.Go(func() {
			for done := 0; done < claims && !t.Failed(); {
				epoch, err := j.Claim(t.Context())
				if owned := (*core.OwnedError)(nil); errors.As(err, &owned) {
					continue
				}
				if err != nil {
					t.Errorf("Claim: %v", err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two own the session at once")
				}
				var log []core.Record
				for r, err := range j.Read(t.Context(), core.Pos{}) {
					if err != nil {
						t.Errorf("Read: %v", err)
					}
					log = append(log, r)
				}
				if err := j.Write(t.Context(), behind(epoch, log, core.Claimed{Epoch: epoch})); err != nil {
					t.Errorf("Write: %v", err)
				}
				won.Add(1)
				done++
				inside.Add(-1)
				if err := j.Release(); err != nil {
					t.Errorf("Release: %v", err)
				}
			}
		})
	}
	wg.Wait()
	log := t.read(t.open(t.store(), "s1"), core.Pos{})
	var epochs []uint64
	for _, r := range log[1:] {
		epochs = append(epochs, r.Event.(core.Claimed).Epoch)
	}
	if !slices.IsSorted(epochs) || len(slices.Compact(epochs)) != int(won.Load()) ||
		len(log) != 1+int(won.Load()) {
		t.Errorf("%d claims left %d records with the epochs %v", won.Load(), len(log), epochs)
	}
}
