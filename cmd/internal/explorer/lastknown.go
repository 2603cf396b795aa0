package explorer

import "sync"

// keptPages is the max number of cached pages.
const keptPages = 64

// lastKnown caches the content of pages by address, to show while the node does not answer.
type lastKnown struct {
	mu    sync.Mutex
	pages *kept[string, content]
}

func (k *lastKnown) get(address string) (content, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pages.get(address)
}

func (k *lastKnown) put(address string, v content) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pages.put(address, v, 1)
}
