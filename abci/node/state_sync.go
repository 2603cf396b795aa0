package node

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errSync means that a state sync can no longer succeed.
var errSync = errors.New("state sync failed")

const syncRemedy = "check statesync.rpc_servers, trust_height and trust_hash in config.toml, and that peers of this " +
	"node take snapshots (snapshot.interval in app.toml); " +
	"if the log says that snapshots are of another version, start the release of that version; " +
	"or set statesync.enable = false to fetch all blocks"

// syncTimeouts bounds the times without progress in a state sync. After such a time the node ends,
// because CometBFT's own state sync would wait without end.
type syncTimeouts struct {
	offer    time.Duration // the max time without an offered snapshot
	chunk    time.Duration // the max time without an accepted chunk, after the first offer
	interval time.Duration // the interval of the check
}

// syncPatience returns the bounds for a node that searches for snapshots at the interval discovery.
// An offer may take four searches. A chunk may take longer than the 2 minutes after which CometBFT
// gives up a snapshot.
func syncPatience(discovery time.Duration) syncTimeouts {
	return syncTimeouts{offer: max(4*discovery, time.Minute), chunk: 5 * time.Minute, interval: time.Second}
}

// restorer is the part of the application that watchSync needs.
type restorer interface {
	// RestoreTimes is implemented by abci.Application.
	RestoreTimes() (offered, taken time.Time, done bool)
}

// watchSync waits for the end of a state sync. It returns nil when the application has its state,
// and errSync after a time without progress.
func watchSync(ctx context.Context, a restorer, p syncTimeouts) error {
	start := time.Now()
	for {
		offered, taken, done := a.RestoreTimes()
		if done || ctx.Err() != nil {
			return nil
		}
		if taken.Before(start) {
			taken = start
		}
		switch {
		case offered.IsZero() && time.Since(start) > p.offer:
			return fmt.Errorf("%w: no peer has offered a snapshot whose height the light client could verify, in %v; %s",
				errSync, p.offer, syncRemedy)
		case time.Since(taken) > p.chunk:
			return fmt.Errorf("%w: peers offer snapshots, and none has sent a right chunk of one in %v; %s", errSync, p.chunk,
				syncRemedy)
		}
		select {
		case <-ctx.Done():
		case <-time.After(p.interval):
		}
	}
}
