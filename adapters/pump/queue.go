package pump

import "sync"

// Queue runs functions on goroutines that live only while there is work. It begins them
// in the order of Go: one at a time if NewQueue made it, several at a time if NewCrew did.
// The zero value is not usable.
type Queue struct {
	owner *sync.WaitGroup
	width int // functions that may run at a time

	mu     sync.Mutex // guards the fields below
	jobs   []func()
	active int // goroutines
}

// NewQueue returns an empty queue whose goroutine belongs to owner.
func NewQueue(owner *sync.WaitGroup) *Queue { return NewCrew(owner, 1) }

// NewCrew returns an empty queue that runs at most width functions at a time.
func NewCrew(owner *sync.WaitGroup, width int) *Queue { return &Queue{owner: owner, width: width} }

// Go adds a function. It never blocks.
func (q *Queue) Go(job func()) {
	q.mu.Lock()
	q.jobs = append(q.jobs, job)
	start := q.active < q.width
	if start {
		q.active++
	}
	q.mu.Unlock()
	if start {
		q.owner.Go(q.run)
	}
}

func (q *Queue) run() {
	for {
		q.mu.Lock()
		if len(q.jobs) == 0 {
			q.jobs = nil
			q.active--
			q.mu.Unlock()
			return
		}
		job := q.jobs[0]
		q.jobs[0] = nil
		q.jobs = q.jobs[1:]
		q.mu.Unlock()
		job()
	}
}
