package logstore

import (
	"container/list"
	"sync"

	"klogfs/internal/disk"
)

// handleCache keeps a bounded number of files open, so that a store of many
// segments needs few descriptors. A file in use is never closed; when all are
// in use the bound is passed rather than a reader refused.
type handleCache struct {
	fs    disk.FS
	limit int

	mu   sync.Mutex
	idle *list.List // of *handle, the longest unused first
	open int
}

// handle is the place of one file in the cache, kept by whoever owns the file.
type handle struct {
	cache *handleCache
	path  string
	write bool

	// Held over the call that opens the file: only users of this one file
	// wait for it.
	opening sync.Mutex

	// Below are guarded by cache.mu.
	file disk.File
	refs int
	elem *list.Element
	gone error // set once the file may not be opened again
}

func newHandleCache(fs disk.FS, limit int) *handleCache {
	return &handleCache{fs: fs, limit: limit, idle: list.New()}
}

func (c *handleCache) handle(path string, write bool) *handle {
	return &handle{cache: c, path: path, write: write}
}

// acquire returns the open file. It stays open until as many calls of release.
func (h *handle) acquire() (disk.File, error) {
	if f, err := h.grab(); f != nil || err != nil {
		return f, err
	}
	h.opening.Lock()
	defer h.opening.Unlock()
	if f, err := h.grab(); f != nil || err != nil {
		return f, err
	}
	open := h.cache.fs.Open
	if h.write {
		open = h.cache.fs.Edit
	}
	f, err := open(h.path)
	if err != nil {
		return nil, err
	}
	h.cache.mu.Lock()
	h.file, h.refs = f, 1
	h.cache.open++
	evicted := h.cache.evict()
	h.cache.mu.Unlock()
	closeAll(evicted)
	return f, nil
}

func (h *handle) grab() (disk.File, error) {
	h.cache.mu.Lock()
	defer h.cache.mu.Unlock()
	if h.gone != nil {
		return nil, h.gone
	}
	if h.file == nil {
		return nil, nil
	}
	if h.elem != nil {
		h.cache.idle.Remove(h.elem)
		h.elem = nil
	}
	h.refs++
	return h.file, nil
}

// release ends one use of the file.
func (h *handle) release() {
	h.cache.mu.Lock()
	h.refs--
	var evicted []disk.File
	if h.refs == 0 {
		h.elem = h.cache.idle.PushBack(h)
		if h.gone != nil {
			evicted = append(evicted, h.cache.drop(h))
		} else {
			evicted = h.cache.evict()
		}
	}
	h.cache.mu.Unlock()
	closeAll(evicted)
}

// retire closes the file as soon as nobody uses it; acquire returns cause from
// now on.
func (h *handle) retire(cause error) error {
	h.cache.mu.Lock()
	h.gone = cause
	var f disk.File
	if h.elem != nil {
		f = h.cache.drop(h)
	}
	h.cache.mu.Unlock()
	if f == nil {
		return nil
	}
	return f.Close()
}

// evict takes files that nobody uses out of the cache until it is within its
// bound. The caller holds mu and closes them after it let go of it.
func (c *handleCache) evict() []disk.File {
	var files []disk.File
	for c.open > c.limit && c.idle.Len() > 0 {
		files = append(files, c.drop(c.idle.Front().Value.(*handle)))
	}
	return files
}

func (c *handleCache) drop(h *handle) disk.File {
	f := h.file
	c.idle.Remove(h.elem)
	h.file, h.elem = nil, nil
	c.open--
	return f
}

// closeAll closes files that left the cache. What was written to them is in
// the page cache, and sync is asked of the file itself: a close has nothing to
// tell that matters.
func closeAll(files []disk.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
