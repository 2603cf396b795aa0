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

// patience bounds the times without progress in a state sync. After such a time the node ends,
// because CometBFT's own state sync would wait without end.
type patience struct {
	offer time.Duration // the max time without an offered snapshot
	chunk time.Duration // the max time without an accepted chunk, after the first offer
	look  time.Duration // the interval of the check
}

// syncPatience returns the bounds for a node that searches for snapshots every discovery. An offer
// may take four searches. A chunk may take longer than the 2 minutes after which CometBFT gives up
// a snapshot.
func syncPatience(discovery time.Duration) patience {
	return patience{offer: max(4*discovery, time.Minute), chunk: 5 * time.Minute, look: time.Second}
}

// syncing is the part of the application that watchSync needs.
type syncing interface {
	// Restoring is implemented by abci.Application.
	Restoring() (offered, taken time.Time, done bool)
}

// watchSync waits for the end of a state sync. It returns nil when the application has its state,
// and errSync after a time without progress.
func watchSync(ctx context.Context, a syncing, p patience) error {
	start := time.Now()
	for {
		offered, taken, done := a.Restoring()
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
		case <-time.After(p.look):
		}
	}
}
