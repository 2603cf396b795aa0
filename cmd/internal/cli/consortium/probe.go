package consortium

import (
	"context"
	"sync"

	"github.com/spdl/spdl/cmd/internal/founding"
	"github.com/spdl/spdl/cmd/internal/probe"
)

// probeAll probes the addresses of all entries at once. The result is in the order of the members;
// nil is a node that answers, or an entry without an address.
func probeAll(ctx context.Context, f *founding.Founding) []error {
	errs := make([]error, len(f.Entries))
	var wg sync.WaitGroup
	for i, e := range f.Entries {
		if e != nil && e.Address != "" {
			wg.Go(func() { errs[i] = probe.Node(ctx, e.Address) })
		}
	}
	wg.Wait()
	return errs
}
