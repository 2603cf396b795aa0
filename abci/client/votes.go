package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtbytes "github.com/cometbft/cometbft/libs/bytes"
	ctypes "github.com/cometbft/cometbft/rpc/core/types"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// Overdue is the time without a block after which a chain counts as waiting. While a round only waits for gradients,
// the chain makes an empty block every second.
const Overdue = 20 * time.Second

// recentRounds is the number of consensus rounds in which a validator votes at least once, or counts as silent.
const recentRounds = 3

// VotesRPC has the methods of CometBFT's RPC from which ReadVotes learns which validators vote.
type VotesRPC interface {
	ConsensusState(ctx context.Context) (*ctypes.ResultConsensusState, error)
	Validators(ctx context.Context, height *int64, page, perPage *int) (*ctypes.ResultValidators, error)
	ABCIQuery(ctx context.Context, path string, data cmtbytes.HexBytes) (*ctypes.ResultABCIQuery, error)
}

// Votes tells which validators have not voted for the block that a node waits for.
type Votes struct {
	// Silent names the validators whose votes the node lacks: index and moniker of the participant, as 2 "node2", or the
	// address of a validator that belongs to no participant.
	Silent []string  `json:"silent"`
	All    int       `json:"all"` // the number of all validators
	Since  time.Time `json:"-"`   // when the node began to wait: at the block before, or at its start
	Height int64     `json:"-"`   // of the block that the node waits for
	Peers  int64     `json:"-"`   // the height of the last block that a peer has, 0 if none says
	// Proposing says that the height's first proposal is awaited. Nobody votes before it, and its proposer may wait.
	Proposing bool `json:"-"`
}

// ReadVotes asks a node which validators have voted in the last recentRounds consensus rounds of the height that the
// node is deciding. It names a validator after its participant in participants.
func ReadVotes(ctx context.Context, rpc VotesRPC, participants []app.Participant) (v Votes, err error) {
	state, err := rpc.ConsensusState(ctx)
	if err != nil {
		return v, err
	}
	voted, err := v.voters(state.RoundState)
	if err != nil {
		return v, err
	}
	if answer, err := rpc.ABCIQuery(ctx, "/connections", nil); err == nil {
		var c query.Connections
		_ = json.Unmarshal(answer.Response.Value, &c) // of no peer, if the node does not say
		v.Peers = c.PeerHeight
	}
	names := map[string]string{}
	for i := range participants {
		if p := &participants[i]; len(p.ConsensusKey) == ed25519.PubKeySize {
			names[ed25519.PubKey(p.ConsensusKey).Address().String()] = fmt.Sprintf("%d %q", p.Index, p.Moniker)
		}
	}
	for page, perPage := 1, 100; ; page++ {
		answer, err := rpc.Validators(ctx, nil, &page, &perPage)
		if err != nil {
			return v, err
		}
		for _, one := range answer.Validators {
			address := one.Address.String()
			if name, ok := names[address]; !voted[v.All] && ok {
				v.Silent = append(v.Silent, name)
			} else if !voted[v.All] {
				v.Silent = append(v.Silent, address)
			}
			v.All++
		}
		if len(answer.Validators) == 0 || v.All >= answer.Total {
			return v, nil
		}
	}
}

// Lost reports whether too few validators vote to decide a block, which takes more than two thirds.
// All validators have the same power.
func (v Votes) Lost() bool { return !v.Proposing && 3*(v.All-len(v.Silent)) <= 2*v.All }

// maxNames is the max number of validators that String names.
const maxNames = 8

// String returns a text with the number of validators that vote, and the names of up to maxNames
// validators that do not vote.
func (v Votes) String() string {
	text := fmt.Sprintf("%d of %d validators vote", v.All-len(v.Silent), v.All)
	if len(v.Silent) == 0 {
		return text
	}
	text += ", not " + strings.Join(v.Silent[:min(maxNames, len(v.Silent))], ", ")
	if more := len(v.Silent) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Fetches reports whether a peer has the block that the node waits for: the chain goes on, and the votes do not count.
func (v Votes) Fetches() bool { return v.Height > 0 && v.Peers >= v.Height }

// Standstill describes a chain that waits for a block, or a node that lacks one.
func (v Votes) Standstill() string {
	switch {
	case v.Fetches():
		return fmt.Sprintf("The node fetches blocks: it lacks block %d, and its peers have block %d", v.Height, v.Peers)
	case v.Proposing:
		return fmt.Sprintf("The chain waits for the proposal of block %d", v.Height)
	case len(v.Silent) == v.All:
		return "No vote reaches this node, which is alone or just back: " + v.String()
	case v.Lost():
		return "No quorum: " + v.String() + ", and a block takes more than two thirds"
	}
	return "The chain waits: " + v.String()
}

// voters returns the indices of the validators that have a vote in the last recentRounds rounds of the given round
// state, and sets the height and when it began.
func (v *Votes) voters(roundState json.RawMessage) (voted map[int]bool, err error) {
	var s struct {
		At     string    `json:"height/round/step"`
		Start  time.Time `json:"start_time"`
		Rounds []struct {
			Prevotes   []string `json:"prevotes"`
			Precommits []string `json:"precommits"`
		} `json:"height_vote_set"`
	}
	if err := json.Unmarshal(roundState, &s); err != nil {
		return nil, err
	}
	height, step, _ := strings.Cut(s.At, "/")
	v.Height, _ = strconv.ParseInt(height, 10, 64)
	v.Since, voted = s.Start, map[int]bool{}
	for _, round := range s.Rounds[max(0, len(s.Rounds)-recentRounds):] {
		for _, votes := range [][]string{round.Prevotes, round.Precommits} {
			for i, vote := range votes {
				if strings.HasPrefix(vote, "Vote{") {
					voted[i] = true
				}
			}
		}
	}
	v.Proposing = step == "0/3" && len(voted) == 0
	return voted, nil
}
