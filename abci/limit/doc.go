// Package limit bounds what peers can make a node receive, store and compute: the size of a message
// on each channel, the unfinished messages of all peers together, evidence, and requests for blocks
// and snapshots. Each limit is a reactor that wraps one of CometBFT's and is installed by a node
// option. It bounds what one peer, and what all peers together, can cause.
package limit
