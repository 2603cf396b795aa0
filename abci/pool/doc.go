// Package pool holds the transactions that wait for a block, and what a node computes from them
// once for all verbs: drafts of aggregates, Delta ahead of the aggregate, and the outcomes of
// blocks. The rule runs in [app.State.Execute] and in drafts; the caches that keep it from running
// twice are here: Drafts by the pool's content, Executor by the block's content.
package pool
