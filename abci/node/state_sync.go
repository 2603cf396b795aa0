package node

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errSync means that a state sync can no longer succeed.
var errSync = errors.New("state sync failed")

const syncRemedy = "check statesync.rpc_servers, trust_height and trust_hash in config.toml, and that peers admit " +
	"this node (their p2p.allowed_peers) and take snapshots (snapshot.interval in app.toml); " +
	"if the log says that snapshots are of another version, start the release of that version; " +
	"or set statesync.enable = false to fetch all blocks"

// syncTimeouts has the max times that a state sync may make no progress. After such a time the node
// stops, because CometBFT's own state sync would wait forever.
type syncTimeouts struct {
	offer    time.Duration // the max time without an offered snapshot
	chunk    time.Duration // the max time without an accepted chunk, after the first offer
	interval time.Duration // the interval of the check
}

// syncPatience returns the bounds for a node that searches for snapshots at the interval discovery.
// The bound for an offer is the time of four searches, but at least a minute. The bound for a chunk
// is longer than the 2 minutes after which CometBFT gives up a snapshot.
func syncPatience(discovery time.Duration) syncTimeouts {
	return syncTimeouts{offer: max(4*discovery, time.Minute), chunk: 5 * time.Minute, interval: time.Second}
}

// watchSync waits for the end of a state sync. It returns nil when the application has its state or ctx ends, and
// errSync if the sync makes no progress within the bounds p. times is Application.RestoreTimes.
func watchSync(ctx context.Context, times func() (offered, taken time.Time, done bool), p syncTimeouts) error {
	start := time.Now()
	for {
		offered, taken, done := times()
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
