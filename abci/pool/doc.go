// Package pool holds the transactions that wait for a block. It also caches what several ABCI methods compute from
// these transactions: drafts of aggregates, the model update Delta (which can be computed before the aggregate
// arrives), and the outcomes of blocks. The aggregation rule runs in [app.State.Execute] and in drafts. Two caches keep
// the rule from running twice: Drafts, whose key is the pool's content, and Executor, whose key is the block's content.
package pool
