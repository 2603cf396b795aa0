package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
)

// The chain has stopped if its last block is older than staleAfter and than staleProposals times the
// timeout of a proposal.
const (
	staleProposals = 10
	staleAfter     = time.Minute
)

// lastBlock warns if the chain has stopped, and names the validators whose recent votes the node
// lacks.
func lastBlock(ctx context.Context, h *Home) Finding {
	if !h.runs() {
		return skip("the node is stopped")
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
	silent, all, err := h.silentValidators(ctx)
	if err != nil {
		found += fmt.Sprintf("; the votes cannot be read: %v", err)
	} else {
		found += fmt.Sprintf("; %d of %d validators vote, not%s", all-len(silent), all, list(silent))
	}
	return warn("more than two thirds of the validators have to run and be connected: ask those that do not vote", "%s",
		found)
}

// A validator counts as silent if it has not voted in the last recentRounds consensus rounds.
const recentRounds = 3

// silentValidators returns the names of the validators whose votes the node lacks in the recent
// rounds of the height that is being decided, and the number of all validators.
func (h *Home) silentValidators(ctx context.Context) (silent []string, all int, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	state, err := h.Client.RPC().ConsensusState(ctx)
	if err != nil {
		return nil, 0, err
	}
	voted, err := voters(state.RoundState)
	if err != nil {
		return nil, 0, err
	}
	names := map[string]string{}
	participants, err := h.participants(ctx)
	if err != nil {
		return nil, 0, err
	}
	for i := range participants {
		if p := &participants[i]; len(p.ConsensusKey) == ed25519.PubKeySize {
			names[ed25519.PubKey(p.ConsensusKey).Address().String()] = fmt.Sprintf("%d %q", p.Index, p.Moniker)
		}
	}
	page := 1
	perPage := 100
	for {
		v, err := h.Client.RPC().Validators(ctx, nil, &page, &perPage)
		if err != nil {
			return nil, 0, err
		}
		for _, one := range v.Validators {
			if !voted[all] {
				name := names[one.Address.String()]
				if name == "" {
					name = one.Address.String()
				}
				silent = append(silent, name)
			}
			all++
		}
		if len(v.Validators) == 0 || all >= v.Total {
			return silent, all, nil
		}
		page++
	}
}

// voters returns the indices of the validators with a vote in the recent rounds of a round state.
func voters(roundState json.RawMessage) (map[int]bool, error) {
	var s struct {
		Rounds []struct {
			Prevotes   []string `json:"prevotes"`
			Precommits []string `json:"precommits"`
		} `json:"height_vote_set"`
	}
	if err := json.Unmarshal(roundState, &s); err != nil {
		return nil, err
	}
	voted := map[int]bool{}
	for _, round := range s.Rounds[max(0, len(s.Rounds)-recentRounds):] {
		for _, votes := range [][]string{round.Prevotes, round.Precommits} {
			for i, vote := range votes {
				if strings.HasPrefix(vote, "Vote{") {
					voted[i] = true
				}
			}
		}
	}
	return voted, nil
}
