// Package limit bounds what peers can make a node receive, store and compute: the size of a message
// on each channel, the unfinished messages of all peers together, evidence, and requests for blocks
// and snapshots. Each limit is a CometBFT reactor around another one, installed by a node option,
// and holds for one peer and for all peers together.
package limit
