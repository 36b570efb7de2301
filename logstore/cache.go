package logstore

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// sizedCache keeps what was used last, up to a bound in bytes. It is safe for
// concurrent use; what it returns must not be changed.
type sizedCache[K comparable, V any] struct {
	limit int64

	mu   sync.Mutex
	lru  *simplelru.LRU[K, sized[V]]
	size int64
}

type sized[V any] struct {
	value V
	size  int64
}

func newSizedCache[K comparable, V any](limit int64) *sizedCache[K, V] {
	c := &sizedCache[K, V]{limit: limit}
	const anyNumber = 1 << 30 // the bound is in bytes
	c.lru, _ = simplelru.NewLRU(anyNumber, func(_ K, e sized[V]) { c.size -= e.size })
	return c
}

func (c *sizedCache[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.lru.Get(key)
	return e.value, ok
}

// add puts a value of a size in bytes in; one over the bound is not kept.
func (c *sizedCache[K, V]) add(key K, value V, size int64) {
	const overhead = 128
	size += overhead
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key)
	if size > c.limit {
		return
	}
	c.lru.Add(key, sized[V]{value, size})
	for c.size += size; c.size > c.limit; {
		c.lru.RemoveOldest()
	}
}

func (c *sizedCache[K, V]) remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key)
}
