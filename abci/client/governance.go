package client

import (
	"context"
	"fmt"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Lead returns the node's draft of an aggregate for a participant to sign, and the draft's
// gradients. It verifies neither draft nor gradients.
func (c *Client) Lead(ctx context.Context, participant uint32) (*tx.Aggregate, []*tx.Tx, error) {
	answer, err := Ask[query.Lead](ctx, c, "/lead/"+number(uint64(participant)))
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
	answer, err := Ask[query.Lead](ctx, c, "/lead/"+number(uint64(participant))+"/draft")
	if err == nil && answer.Draft == nil {
		err = fmt.Errorf("answer to /lead has no draft")
	}
	return answer.Draft, err
}

// Pending returns a participant's gradient for the open round from the node's pool. It does not verify the gradient.
func (c *Client) Pending(ctx context.Context, participant uint32) (*tx.Tx, error) {
	raw, err := Ask[[]byte](ctx, c, "/pending/"+number(uint64(participant)))
	if err != nil {
		return nil, err
	}
	return tx.Decode(raw)
}

// Membership returns the registered participants and the open proposals.
func (c *Client) Membership(ctx context.Context) (query.Membership, error) {
	return Ask[query.Membership](ctx, c, "/membership")
}

// Clocks returns the clocks of the node's peers, as the node has measured them.
func (c *Client) Clocks(ctx context.Context) ([]query.PeerClock, error) {
	return Ask[[]query.PeerClock](ctx, c, "/clocks")
}

// Connections returns what the node reports about its connections to peers.
func (c *Client) Connections(ctx context.Context) (query.Connections, error) {
	return Ask[query.Connections](ctx, c, "/connections")
}

// Evidence returns the proven offences, in the order in which they were proven.
func (c *Client) Evidence(ctx context.Context) ([]app.Offence, error) {
	return Ask[[]app.Offence](ctx, c, "/evidence")
}

// RoundOf returns the record of a closed round in any epoch.
func (c *Client) RoundOf(ctx context.Context, epoch, round uint64) (app.Record, error) {
	return Ask[app.Record](ctx, c, "/round/"+place(epoch, round))
}

// ModelOf returns the model after a closed round in any epoch, if the node still has it.
func (c *Client) ModelOf(ctx context.Context, epoch, round uint64) (query.ModelState, error) {
	return Ask[query.ModelState](ctx, c, "/model/"+place(epoch, round))
}

func place(epoch, round uint64) string { return number(epoch) + "/" + number(round) }
