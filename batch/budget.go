package batch

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// DefaultMaxBytes is how large the records of a batch may be, decompressed,
// for a decoder without a budget of its own.
const DefaultMaxBytes = 256 << 20

// Budget bounds what decoders hold decompressed, all together. A batch that
// needs more than what is left waits; one that needs more than there is fails
// with ErrTooLarge. Up to freeBytes a decoder holds outside of it, so that
// batches of the usual size never wait. All methods may be called by several
// goroutines at once.
type Budget struct {
	size int64
	left *semaphore.Weighted

	mu      sync.Mutex
	holders map[*func()]struct{}
	// given is how many bytes were given back since they were last collected.
	given int64
}

// freeBytes is what each decoder may hold without asking.
const freeBytes = 1 << 20

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int64) *Budget {
	return &Budget{size: bytes, left: semaphore.NewWeighted(bytes), holders: map[*func()]struct{}{}}
}

// Size is the whole budget in bytes.
func (b *Budget) Size() int64 { return b.size }

// OnDemand tells the budget of somebody who keeps a batch decoded while nobody
// reads it. yield is called when others wait: it gives back what can be
// decoded again, and returns at once where somebody is at work with it. The
// returned function takes it back.
func (b *Budget) OnDemand(yield func()) (remove func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holders[&yield] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.holders, &yield)
	}
}

// acquire waits for n bytes, at most the whole budget. Who calls it holds none.
func (b *Budget) acquire(n int64) {
	b.wait(n)
	b.mu.Lock()
	defer b.mu.Unlock()
	// What was given back is memory still, until it is collected; large pieces
	// that come and go quickly would be many times the budget.
	if b.given+n > b.size/2 && b.given > 0 {
		b.given = 0
		runtime.GC()
	}
}

func (b *Budget) wait(n int64) {
	const again = 50 * time.Millisecond
	for !b.left.TryAcquire(n) {
		b.demand()
		ctx, cancel := context.WithTimeout(context.Background(), again)
		err := b.left.Acquire(ctx, n)
		cancel()
		if err == nil {
			return
		}
	}
}

func (b *Budget) release(n int64) {
	b.mu.Lock()
	b.given += n
	b.mu.Unlock()
	b.left.Release(n)
}

func (b *Budget) demand() {
	b.mu.Lock()
	yields := make([]func(), 0, len(b.holders))
	for yield := range b.holders {
		yields = append(yields, *yield)
	}
	b.mu.Unlock()
	for _, yield := range yields {
		yield()
	}
}
