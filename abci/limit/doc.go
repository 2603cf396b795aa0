// Package limit bounds what peers can make a node receive, store and compute: the size of a message
// on each channel, the unfinished messages of all peers together, evidence, and requests for blocks
// and snapshots. Each limit is a reactor that wraps a reactor of CometBFT, and a node option
// installs the limit. Some limits hold for each peer, others for all peers together.
package limit
