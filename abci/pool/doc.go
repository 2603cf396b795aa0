// Package pool holds the transactions that wait for a block, and caches what several ABCI methods
// need from them: drafts of aggregates, a Delta that is computed before the aggregate arrives, and
// the outcomes of blocks. The aggregation rule runs in [app.State.Execute] and in drafts. Two
// caches keep it from running twice: Drafts by the pool's content, and Executor by the block's
// content.
package pool
