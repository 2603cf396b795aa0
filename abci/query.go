package abci

import (
	"context"
	"fmt"
	"strings"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci/query"
)

// Query answers from the committed state, and from this node's own pool and clock. In a path {t} is
// a round of the running epoch, as {round}, or of any epoch, as {epoch}/{round}. The paths are
//
//   - status, params, progress, participants, participants/{i}, round/{t}, model, model/{t};
//   - timing/{t}, refusals, refusals/{t} and attempts/{t}, which are this node's observations;
//   - lead/{participant}, the draft of an aggregate for a worker to sign, together with its
//     gradients; lead/{participant}/draft, the same without the gradients; pending/{participant},
//     one gradient;
//   - leader, election/{t}, reputation, membership, proposals, evidence, epochs,
//     upgrade, privacy and privacy/{participant};
//   - bundle/{t} and kept/{t}, the parts of an export; kept, the whole current state, for a worker
//     in another process, which checks the state against a header.
//
// With ?from=A&to=B after the path the answer is a range of the bytes of a model, a state or the
// velocity: see query.RangeInfo.
//
// If the request sets Prove, the value is not JSON but the bytes of a leaf in the state's Merkle tree, with the leaf's
// key and a proof. The proof leads to the application hash, which is in the header of the answer's height plus 1
// (package proof). Proofs exist for params, progress, chain_id, closed, history, participants, model, velocity,
// proposals, offences and epochs, for each element of a list, as in participants/{i}, and for chunk/{i}, chunk/{t}/{i},
// model/{t} and round/{t}.
func (a *Application) Query(_ context.Context, req *abcitypes.RequestQuery) (*abcitypes.ResponseQuery, error) {
	var err error
	answer := &abcitypes.ResponseQuery{Key: []byte(req.Path)}
	switch what, isFilter := strings.CutPrefix(req.Path, "/p2p/filter/"); {
	case len(req.Path) > query.MaxQueryPath:
		err = fmt.Errorf("%w: the path has %d bytes, at most %d", query.ErrBadQuery, len(req.Path), query.MaxQueryPath)
	case len(req.Data) > 0:
		err = fmt.Errorf("%w: %d bytes of data, want none: the path says all", query.ErrBadQuery, len(req.Data))
	case isFilter:
		err = a.answerFilter(what)
	default:
		err = a.queries.Answer(req, answer)
	}
	if err != nil {
		return &abcitypes.ResponseQuery{Code: Code(err), Codespace: Codespace, Log: query.TruncateLog(err.Error()),
			Height: answer.Height}, nil
	}
	return answer, nil
}

// answerFilter answers CometBFT's peer filter for an address or a node id. A nil error admits the peer.
func (a *Application) answerFilter(what string) error {
	if id, ok := strings.CutPrefix(what, "id/"); ok {
		return a.options.Host.Admit(id)
	}
	if address, ok := strings.CutPrefix(what, "addr/"); ok {
		return a.options.Host.AdmitAddress(address)
	}
	return nil
}
