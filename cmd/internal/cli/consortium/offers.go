package consortium

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker/consent"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// offered is an epoch that a home may decide about.
type offered struct {
	consent.Subject
	State    string           `json:"state"` // runs, is proposed, is accepted
	Rounds   uint64           `json:"rounds"`
	Epsilon  float64          `json:"epsilon"` // the budget over all epochs
	Noise    float64          `json:"noise_multiplier"`
	Unit     string           `json:"unit"` // of privacy, as params.Params.UnitName names it
	Rule     string           `json:"rule"`
	Trainer  string           `json:"trainer,omitempty"` // the hash of the code of an external model; none for any
	External bool             `json:"external"`
	Decision consent.Decision `json:"decision"`
	Decided  *time.Time       `json:"decided,omitempty"`
}

// stateBegins is the state of epoch 0 of the genesis when no node answers.
const stateBegins = "begins"

func offer(chainID string, epoch uint64, p params.Params, state string) (offered, error) {
	about, err := consent.SubjectOf(chainID, epoch, p)
	return offered{Subject: about, State: state, Rounds: p.Training.Rounds, Epsilon: p.Privacy.Epsilon,
		Noise: p.Privacy.NoiseMultiplier, Unit: p.UnitName(), Rule: p.Rule.Name, Trainer: p.Model.Trainer,
		External: p.Model.Kind == params.ModelExternal}, err
}

// offers returns the running epoch and the proposed ones from the node, or without a node epoch 0
// of the home's genesis. A lie of the node does no harm: the record is about the parameters that
// the node gave, and the worker trains under no others.
func (o *options) offers(r *command.Run, c *config.Config) ([]offered, error) {
	doc, err := home.ReadGenesis(c)
	if err != nil {
		return nil, err
	}
	node, err := r.Client(o.node)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context, command.QueryTimeout)
	defer cancel()
	s, err := node.Status(ctx)
	if errors.Is(err, client.ErrUnreachable) {
		g, err := home.GenesisOf(c)
		if err != nil {
			return nil, err
		}
		r.Warn("the node does not answer: epoch 0 is that of config/genesis.json, and others are not known")
		first, err := offer(doc.ChainID, 0, g.Params, stateBegins)
		return []offered{first}, err
	}
	if err != nil {
		return nil, err
	}
	if s.ChainID != doc.ChainID {
		return nil, fmt.Errorf("the node is on chain %q, this home's genesis is of %q: name the node of this home with "+
			"--node", s.ChainID, doc.ChainID)
	}
	p, err := node.Params(ctx)
	if err != nil {
		return nil, err
	}
	running, err := offer(doc.ChainID, s.Epoch, p, "runs")
	if s.Done {
		running.State = "is over"
	}
	if err != nil {
		return nil, err
	}
	further, err := proposed(ctx, node, doc.ChainID)
	return append([]offered{running}, further...), err
}

// proposed returns the epochs that wait for approval or for their beginning.
func proposed(ctx context.Context, node *client.Client, chainID string) (all []offered, err error) {
	m, err := node.Membership(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range m.Proposals {
		if w.Kind != tx.KindStartEpoch.String() {
			continue
		}
		body, err := w.Body()
		if err != nil {
			return nil, err
		}
		e := body.(*tx.StartEpoch) // as the kind says
		p, err := params.Decode(e.Params)
		if err != nil {
			return nil, fmt.Errorf("proposal %s: %w", w.ID, err)
		}
		state := fmt.Sprintf("is proposed, %d approve", len(w.Approvals))
		if w.Accepted {
			state = "is accepted"
		}
		f, err := offer(chainID, e.Epoch, p, state)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}
