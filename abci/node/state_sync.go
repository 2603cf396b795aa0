package node

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errSync reports a state sync that can no longer succeed.
var errSync = errors.New("state sync failed")

const syncRemedy = "check statesync.rpc_servers, trust_height and trust_hash in config.toml, and that peers of this " +
	"node take snapshots (snapshot.interval in app.toml); " +
	"if the log says that snapshots are of another version, start the release of that version; " +
	"or set statesync.enable = false to fetch all blocks"

// patience bounds the time without progress after which a state sync ends the node. CometBFT's own
// state sync has no such bound: its process would wait forever.
type patience struct {
	offer time.Duration // time without an offered snapshot
	chunk time.Duration // time without an accepted chunk, once there are snapshots
	look  time.Duration // interval of the check
}

// syncPatience allows four discoveries for an offer; CometBFT gives a snapshot up after 2 minutes
// without a chunk.
func syncPatience(discovery time.Duration) patience {
	return patience{offer: max(4*discovery, time.Minute), chunk: 5 * time.Minute, look: time.Second}
}

// syncing is the application's view of a state sync.
type syncing interface {
	// Restoring returns the times of the last accepted offer and of the last accepted chunk, zero
	// if there was none, and whether the application has a state.
	Restoring() (offered, taken time.Time, done bool)
}

// watchSync returns nil once a state sync has given the application its state, or an error once it
// cannot succeed.
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
