package client

import (
	"context"
	"fmt"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// Leader returns the participants that may close the open round at the next height.
func (c *Client) Leader(ctx context.Context) (query.Leader, error) {
	return ask[query.Leader](ctx, c, "/leader")
}

// Lead returns the node's draft of an aggregate for a participant to sign, and the draft's
// gradients. It verifies neither draft nor gradients.
func (c *Client) Lead(ctx context.Context, participant uint32) (*tx.Aggregate, []*tx.Tx, error) {
	answer, err := ask[query.Lead](ctx, c, "/lead/"+number(uint64(participant)))
	if err == nil && answer.Draft == nil {
		err = fmt.Errorf("answer to /lead has no draft")
	}
	if err != nil {
		return nil, nil, err
	}
	gradients := make([]*tx.Tx, len(answer.Gradients))
	for i, raw := range answer.Gradients {
		if gradients[i], err = tx.Decode(raw); err != nil {
			return nil, nil, fmt.Errorf("answer to /lead: gradient %d: %w", i, err)
		}
	}
	return answer.Draft, gradients, nil
}

// Draft returns the node's draft of an aggregate for a participant to sign, without the gradients.
// It does not verify the draft.
func (c *Client) Draft(ctx context.Context, participant uint32) (*tx.Aggregate, error) {
	answer, err := ask[query.Lead](ctx, c, "/lead/"+number(uint64(participant))+"/draft")
	if err == nil && answer.Draft == nil {
		err = fmt.Errorf("answer to /lead has no draft")
	}
	return answer.Draft, err
}

// Pending returns a participant's gradient for the open round from the node's pool. It does not verify the gradient.
func (c *Client) Pending(ctx context.Context, participant uint32) (*tx.Tx, error) {
	raw, err := ask[[]byte](ctx, c, "/pending/"+number(uint64(participant)))
	if err != nil {
		return nil, err
	}
	return tx.Decode(raw)
}

// Election returns the VRF outputs of a closed round in any epoch.
func (c *Client) Election(ctx context.Context, epoch, round uint64) (query.Election, error) {
	return ask[query.Election](ctx, c, "/election/"+place(epoch, round))
}

// Reputation returns the reputations of the active participants, by index.
func (c *Client) Reputation(ctx context.Context) ([]query.Standing, error) {
	return ask[[]query.Standing](ctx, c, "/reputation")
}

// Membership returns the registered participants and the open proposals.
func (c *Client) Membership(ctx context.Context) (query.Membership, error) {
	return ask[query.Membership](ctx, c, "/membership")
}

// Clocks returns the clocks of the node's peers, as the node has measured them.
func (c *Client) Clocks(ctx context.Context) ([]query.PeerClock, error) {
	return ask[[]query.PeerClock](ctx, c, "/clocks")
}

// Connections returns what the node reports about its connections to peers.
func (c *Client) Connections(ctx context.Context) (query.Connections, error) {
	return ask[query.Connections](ctx, c, "/connections")
}

// Evidence returns the proven offences, in the order in which they were proven.
func (c *Client) Evidence(ctx context.Context) ([]app.Offence, error) {
	return ask[[]app.Offence](ctx, c, "/evidence")
}

// Epochs returns all epochs. The last is the running epoch.
func (c *Client) Epochs(ctx context.Context) ([]query.EpochState, error) {
	return ask[[]query.EpochState](ctx, c, "/epochs")
}

// Upgrade returns the chain's state machine version and its planned upgrade.
func (c *Client) Upgrade(ctx context.Context) (query.UpgradeState, error) {
	return ask[query.UpgradeState](ctx, c, "/upgrade")
}

// RoundOf returns the record of a closed round in any epoch.
func (c *Client) RoundOf(ctx context.Context, epoch, round uint64) (app.Record, error) {
	return ask[app.Record](ctx, c, "/round/"+place(epoch, round))
}

// ModelOf returns the model after a closed round in any epoch, if the node still has it.
func (c *Client) ModelOf(ctx context.Context, epoch, round uint64) (query.ModelState, error) {
	return ask[query.ModelState](ctx, c, "/model/"+place(epoch, round))
}

// Privacy returns the epsilon that each participant has spent.
func (c *Client) Privacy(ctx context.Context) ([]query.Spend, error) {
	return ask[[]query.Spend](ctx, c, "/privacy")
}

// PrivacyOf returns the epsilon that one participant has spent.
func (c *Client) PrivacyOf(ctx context.Context, participant uint32) (query.Spend, error) {
	return ask[query.Spend](ctx, c, "/privacy/"+number(uint64(participant)))
}

// TimingOf returns the timing of a closed round in any epoch, on the node's clock.
func (c *Client) TimingOf(ctx context.Context, epoch, round uint64) (query.Timing, error) {
	return ask[query.Timing](ctx, c, "/timing/"+place(epoch, round))
}

// Observed returns what the node observed in the round before the open one.
func (c *Client) Observed(ctx context.Context) (worker.Observed, error) {
	return ask[worker.Observed](ctx, c, "/observed")
}

// Refusals returns the node's rejections of gradients in the last rounds.
func (c *Client) Refusals(ctx context.Context) ([]query.Rejection, error) {
	return ask[[]query.Rejection](ctx, c, "/refusals")
}

// RefusalsOf returns the node's rejections of gradients in one round.
func (c *Client) RefusalsOf(ctx context.Context, epoch, round uint64) ([]query.Rejection, error) {
	return ask[[]query.Rejection](ctx, c, "/refusals/"+place(epoch, round))
}

func place(epoch, round uint64) string { return number(epoch) + "/" + number(round) }
