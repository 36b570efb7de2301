package fs

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/magiconair/properties"

	"klogfs/logstore"
)

// configNode is a topic's configuration as properties. What is written from
// open to close replaces it.
type configNode struct {
	contentNode
	topic string
	// truncated is set by the truncation that follows an open, until its end:
	// the kernel tells of it by the node.
	truncated atomic.Bool
}

// configFile makes the file the answer of a lookup.
func (n *topicNode) configFile(ctx context.Context, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	c := &configNode{contentNode: contentNode{node{m: n.m}, n.config}, topic: n.topic}
	made, err := c.make()
	if err != nil {
		return nil, n.m.errno("look up", n.topic, err)
	}
	c.attr(&out.Attr, made)
	return n.NewInode(ctx, c, gofs.StableAttr{Mode: syscall.S_IFREG}), 0
}

// config is the topic's own configuration, sorted by key.
func (n *topicNode) config() (content, error) {
	t, err := n.m.store.Topic(n.topic)
	if err != nil {
		return content{}, err
	}
	lines := make([]string, 0, len(t.Config))
	for key, value := range t.Config {
		lines = append(lines, key+"="+value+"\n")
	}
	sort.Strings(lines)
	return content{[]byte(strings.Join(lines, "")), n.m.started}, nil
}

func (n *configNode) attr(a *fuse.Attr, c content) {
	n.m.fileAttr(a, int64(len(c.data)), c.modified)
	if n.m.store.Writable() {
		a.Mode |= 0o200 &^ n.m.opts.Umask
	}
}

// Getattr shows the file.
func (n *configNode) Getattr(ctx context.Context, f gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	errno := n.contentNode.Getattr(ctx, f, out)
	if errno == 0 && n.m.store.Writable() {
		out.Mode |= 0o200 &^ n.m.opts.Umask
	}
	return errno
}

// Setattr takes the truncation that comes before a new content.
func (n *configNode) Setattr(ctx context.Context, f gofs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok && size == 0 && n.m.store.Writable() {
		n.truncated.Store(true)
		n.attr(&out.Attr, content{modified: n.m.started})
		return 0
	}
	return n.node.Setattr(ctx, f, in, out)
}

// Open opens the configuration, to read or to replace it.
func (n *configNode) Open(ctx context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE == syscall.O_RDONLY {
		return n.contentNode.Open(ctx, flags)
	}
	if !n.m.store.Writable() {
		return nil, 0, syscall.EROFS
	}
	h := &configHandle{n: n}
	if flags&syscall.O_APPEND != 0 {
		c, err := n.make()
		if err != nil {
			return nil, 0, n.m.errno("open", n.topic, err)
		}
		h.text = c.data
	}
	return h, fuse.FOPEN_DIRECT_IO, 0
}

// configHandle gathers what is written.
type configHandle struct {
	n *configNode

	mu      sync.Mutex
	text    []byte
	changed bool
	tried   bool // whether anything was written, if only to be refused
}

// Write takes a piece. It goes behind what came before. Where lines end, a bad
// key or value is refused at once: few programs look at what close(2) says.
func (h *configHandle) Write(_ context.Context, data []byte, _ int64) (uint32, syscall.Errno) {
	const most = 1 << 20
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried = true
	if len(h.text)+len(data) > most {
		return 0, syscall.EFBIG
	}
	text := append(h.text[:len(h.text):len(h.text)], data...)
	if text[len(text)-1] == '\n' {
		if _, err := parseConfig(text); err != nil {
			return 0, h.n.m.errno("configure topic", h.n.topic, err)
		}
	}
	h.text, h.changed = text, true
	return uint32(len(data)), 0
}

// parseConfig decodes and checks a topic's configuration.
func parseConfig(text []byte) (map[string]string, error) {
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	p, err := loader.LoadBytes(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", logstore.ErrInvalidConfig, err)
	}
	return p.Map(), logstore.ValidateTopicConfig(p.Map())
}

// Flush makes what was written the topic's configuration.
func (h *configHandle) Flush(context.Context) syscall.Errno {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.changed {
		return 0
	}
	h.changed = false
	config, err := parseConfig(h.text)
	if err == nil {
		err = h.n.m.store.AlterTopic(h.n.topic, config)
	}
	return h.n.m.errno("configure topic", h.n.topic, err)
}

// Release ends the handle. A file that was emptied and not written to is an
// empty configuration; not before, since a shell closes a copy of its
// descriptor before it writes.
func (h *configHandle) Release(context.Context) syscall.Errno {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.n.truncated.Swap(false) || h.tried {
		return 0
	}
	return h.n.m.errno("configure topic", h.n.topic, h.n.m.store.AlterTopic(h.n.topic, nil))
}
