package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/spdl/spdl/abci/client"
)

// The chain has stopped if its last block is older than staleAfter and than staleProposals times the
// timeout of a proposal.
const (
	staleProposals = 10
	staleAfter     = time.Minute
)

// lastBlock warns if the chain has stopped, and names the validators whose recent votes the node
// lacks. It fails if the peers of the node have dropped the block that the node needs next.
func lastBlock(ctx context.Context, h *Home) Finding {
	if !h.runs() {
		return skip("the node is stopped")
	}
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	view, _ := h.Client.Connections(asking) // an empty view if the node does not answer
	if gap, remedy := view.Gap(); gap != "" {
		return fail(remedy, "%s", gap)
	}
	at := h.Node.SyncInfo
	if at.LatestBlockHeight == 0 {
		return skip("the node has no block yet")
	}
	age := time.Since(at.LatestBlockTime).Round(time.Second)
	if at.CatchingUp {
		return ok("the node catches up: block %d, of %v ago", at.LatestBlockHeight, age)
	}
	limit := max(staleAfter, staleProposals*h.Config.Consensus.TimeoutPropose)
	if age <= limit {
		return ok("last block %d, %v ago", at.LatestBlockHeight, age)
	}
	found := fmt.Sprintf("last block %d, %v ago, and want at most %v", at.LatestBlockHeight, age, limit)
	if gone := h.gone(ctx); gone != "" {
		return warn("stop the node: it takes no part; another member's node shows the chain (spdl query status --node)",
			"%s; %s: the members' nodes send this one no blocks", found, gone)
	}
	if votes, err := h.recentVotes(ctx); err != nil {
		found += fmt.Sprintf("; the votes cannot be read: %v", err)
	} else {
		found += "; " + votes.String()
	}
	return warn("more than two thirds of the validators have to run and be connected: ask those that do not vote", "%s",
		found)
}

// recentVotes returns the votes for the block that the node waits for.
func (h *Home) recentVotes(ctx context.Context) (client.Votes, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	participants, err := h.participants(ctx)
	if err != nil {
		return client.Votes{}, err
	}
	return client.ReadVotes(ctx, h.Client.RPC(), participants)
}
