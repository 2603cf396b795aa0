package node

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errSync is a state sync that cannot succeed any more.
var errSync = errors.New("state sync failed")

const syncRemedy = "check statesync.rpc_servers, trust_height and trust_hash in config.toml, and that peers of this node take snapshots (snapshot.interval in app.toml); " +
	"if the log says that snapshots are of another version, start the release of that version; " +
	"or set statesync.enable = false to fetch all blocks"

// patience bounds how long a state sync may bring nothing before the node ends.
// CometBFT's own goes on for ever, with the process alive and nothing in it.
type patience struct {
	offer time.Duration // without a snapshot that a peer offers
	chunk time.Duration // without a chunk that is taken, once there are snapshots
	look  time.Duration // between two looks
}

// syncPatience returns four discoveries for an offer; CometBFT gives up a snapshot of
// which no chunk comes after 2 minutes.
func syncPatience(discovery time.Duration) patience {
	return patience{offer: max(4*discovery, time.Minute), chunk: 5 * time.Minute, look: time.Second}
}

// syncing is what the application knows of a state sync.
type syncing interface {
	// Restoring returns when a snapshot was last offered to the application and when
	// it last took a chunk, zero times where never, and whether it has a state.
	Restoring() (offered, taken time.Time, done bool)
}

// watchSync returns once a state sync has given the application its state, or
// why it is over without one.
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
			return fmt.Errorf("%w: no peer has offered a snapshot whose height the light client could verify, in %v; %s", errSync, p.offer, syncRemedy)
		case time.Since(taken) > p.chunk:
			return fmt.Errorf("%w: peers offer snapshots, and none has sent a right chunk of one in %v; %s", errSync, p.chunk, syncRemedy)
		}
		select {
		case <-ctx.Done():
		case <-time.After(p.look):
		}
	}
}
