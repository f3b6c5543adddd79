package survey

import (
	"container/list"
	"sync"
)

// maxCached bounds the versions that a process keeps parsed, by the bytes of their
// text. Parsed ones take a few times as much.
const maxCached = 32 << 20

// versionOverhead is what a version counts beside its text.
const versionOverhead = 1 << 10

// versionCache keeps the versions that were used last (Triggers & Scheduler, "Schema
// cache"). Scope and content hash are part of what they are found by: no tenant gets
// another's, and what was read in a transaction that was rolled back harms nobody.
type versionCache struct {
	limit int

	mu      sync.Mutex
	entries map[versionRef]*list.Element // of cachedVersion
	used    list.List                    // the last used first
	size    int
}

type cachedVersion struct {
	ref     versionRef
	version *version
	size    int
}

func newVersionCache() *versionCache {
	return &versionCache{limit: maxCached, entries: map[versionRef]*list.Element{}}
}

// get is nil if the version is not here.
func (c *versionCache) get(ref versionRef) *version {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[ref]
	if e == nil {
		return nil
	}
	c.used.MoveToFront(e)
	return e.Value.(cachedVersion).version
}

// add keeps a version whose text has that many bytes, and returns the one that is
// kept: several readers may have parsed it at once.
func (c *versionCache) add(ref versionRef, v *version, bytes int) *version {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[ref]; e != nil {
		return e.Value.(cachedVersion).version
	}
	size := bytes + versionOverhead
	c.entries[ref] = c.used.PushFront(cachedVersion{ref, v, size})
	c.size += size
	for c.size > c.limit && c.used.Len() > 1 {
		oldest := c.used.Remove(c.used.Back()).(cachedVersion)
		delete(c.entries, oldest.ref)
		c.size -= oldest.size
	}
	return v
}
