package interop

import (
	"context"
	"fmt"
	"math"
	"sort"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// fate is what becomes of a transaction.
type fate int

const (
	undecided fate = iota
	toCommit
	toAbort
)

// txn is one transaction of a stream, by the numbers of its records.
type txn struct {
	from, to int64
	fate     fate
	// settled is set once its marker is certain to be in the log: the broker
	// lets no next transaction of the producer begin before.
	settled bool
}

// txnStream is the records of a transactional producer, and what became of
// its transactions.
type txnStream struct {
	stream
	mu      sync.Mutex
	txns    []txn
	offsets []int64 // of the records that were acknowledged
}

func newTxnStream(i int) *txnStream {
	return &txnStream{stream: stream{name: fmt.Sprintf("txn.%d", i), topic: "txn"}}
}

// produceTxn runs transactions until ctx ends: every third aborts, and every
// seventh is long and aborts.
func (l *live) produceTxn(ctx context.Context, t *testing.T, p *txnStream) {
	c := newClientIn(t, l.b.Addr(), kgo.TransactionalID(p.name))
	if c == nil {
		return
	}
	defer c.Close()
	for i := 0; ctx.Err() == nil && !t.Failed(); i++ {
		sends, decision := 3, toCommit
		switch {
		case i%7 == 6:
			sends, decision = 40, toAbort
		case i%3 == 1:
			decision = toAbort
		}
		if err := p.transaction(c, sends, decision); err != nil {
			t.Error(err)
			return
		}
	}
}

// transaction runs one transaction to its end.
func (p *txnStream) transaction(c *kgo.Client, sends int, decision fate) error {
	if err := c.BeginTransaction(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	p.mu.Lock()
	from := p.acked.Load()
	p.txns = append(p.txns, txn{from: from, to: math.MaxInt64})
	p.mu.Unlock()
	for range sends {
		const together = 50
		results, err := p.send(context.Background(), c, together)
		if err != nil {
			return err
		}
		p.note(results)
	}
	p.mu.Lock()
	last := &p.txns[len(p.txns)-1]
	last.to, last.fate = p.acked.Load(), decision
	p.mu.Unlock()
	if err := c.EndTransaction(context.Background(), kgo.TransactionEndTry(decision == toCommit)); err != nil {
		return fmt.Errorf("end of a transaction: %w", err)
	}
	return nil
}

// note takes note of where records are.
func (p *txnStream) note(results kgo.ProduceResults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range results {
		p.offsets = append(p.offsets, r.Record.Offset)
	}
	for i := range p.txns[:len(p.txns)-1] {
		p.txns[i].settled = true
	}
	p.acked.Add(int64(len(results)))
}

// of is the transaction that a record is of.
func (p *txnStream) of(n int64) txn {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := sort.Search(len(p.txns), func(i int) bool { return p.txns[i].to > n })
	if i == len(p.txns) {
		return txn{}
	}
	return p.txns[i]
}

func (p *txnStream) offset(n int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offsets[n]
}

// stable is an offset below which no record of the producer is in a
// transaction that may be open.
func (p *txnStream) stable() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.txns {
		if x.settled {
			continue
		}
		if x.from < int64(len(p.offsets)) {
			return p.offsets[x.from]
		}
		break
	}
	if n := len(p.offsets); n > 0 {
		return p.offsets[n-1] + 1
	}
	return 0
}

// stable is an offset that the last stable offset of the broker has reached.
func (l *live) stable() int64 {
	least := int64(math.MaxInt64)
	for _, p := range l.txns {
		least = min(least, p.stable())
	}
	return least
}

// committedBelow is the number after the last record of the producer that is
// committed and below an offset.
func (p *txnStream) committedBelow(offset int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.txns) - 1; i >= 0; i-- {
		x := p.txns[i]
		if x.settled && x.fate == toCommit && p.offsets[x.to-1] < offset {
			return x.to
		}
	}
	return 0
}
