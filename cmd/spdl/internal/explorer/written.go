package explorer

import "sync"

// writtenBytes bounds the pages that are kept between two looks at the chain.
const writtenBytes = 8 << 20

// written caches the pages and answers that were written since the last look at the chain. However many clients
// ask, a page is written at most once per look.
type written struct {
	mu    sync.Mutex
	look  uint64
	pages *kept[string, []byte]
}

// get returns the page of an address, nil where it was not written since that look.
func (p *written) get(look uint64, address string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pages == nil || p.look != look {
		return nil
	}
	page, _ := p.pages.get(address)
	return page
}

// put keeps a page that was begun after a look, unless there has been another look since.
func (p *written) put(look uint64, address string, page []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pages == nil || p.look < look {
		p.look, p.pages = look, newKept[string, []byte](writtenBytes)
	}
	if p.look == look && page != nil {
		p.pages.put(address, page, len(page)+len(address))
	}
}
