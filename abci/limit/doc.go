// Package limit bounds what peers can make a node receive, store and compute: the size of a message
// on each channel, the unfinished messages of all peers together, evidence, and requests for blocks
// and snapshots. Each limit is a reactor that wraps one of CometBFT's, and a node option installs
// it. There are limits for one peer, and limits for all peers together.
package limit
