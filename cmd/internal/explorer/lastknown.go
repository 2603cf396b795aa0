package explorer

import "sync"

// keptPages is the number of pages that are shown again while the node is lost.
const keptPages = 64

// lastKnown keeps the content of pages, by their address.
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
