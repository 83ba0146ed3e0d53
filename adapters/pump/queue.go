package pump

import "sync"

// Queue runs functions one after the other, in the order of Go, on a goroutine
// that lives only while there are any. The zero value is not ready: use NewQueue.
type Queue struct {
	owner *sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	jobs   []func()
	active bool
}

// NewQueue returns an empty queue whose goroutine belongs to owner.
func NewQueue(owner *sync.WaitGroup) *Queue { return &Queue{owner: owner} }

// Go adds a function. It never blocks.
func (q *Queue) Go(job func()) {
	q.mu.Lock()
	q.jobs = append(q.jobs, job)
	start := !q.active
	q.active = true
	q.mu.Unlock()
	if start {
		q.owner.Go(q.run)
	}
}

func (q *Queue) run() {
	for {
		q.mu.Lock()
		if len(q.jobs) == 0 {
			q.jobs, q.active = nil, false
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
