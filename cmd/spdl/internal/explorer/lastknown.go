package explorer

import "sync"

// keptPages is the number of pages that are shown again while the node is lost.
const keptPages = 64

// lastKnown keeps the content of the pages that were asked for last.
type lastKnown struct {
	mu    sync.Mutex
	pages map[string]content
	order []string
}

func (k *lastKnown) get(address string) (content, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.pages[address]
	return v, ok
}

func (k *lastKnown) put(address string, v content) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pages == nil {
		k.pages = map[string]content{}
	}
	if _, ok := k.pages[address]; !ok {
		if k.order = append(k.order, address); len(k.order) > keptPages {
			delete(k.pages, k.order[0])
			k.order = k.order[1:]
		}
	}
	k.pages[address] = v
}
