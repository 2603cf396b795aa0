// Package query answers ABCI queries: from the committed state, from the store of records, models
// and checkpoints, and from this node's own pool and clock.
package query
