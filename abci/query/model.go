package query

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"github.com/spdl/spdl/app"
)

func (q *Queries) queryModel(s *app.State, arg string) (any, error) {
	if arg == "" {
		hash := app.ModelHash(s.Model)
		return ModelState{Epoch: s.Progress.Epoch, Round: s.Progress.Round, Hash: hex.EncodeToString(hash[:]),
			Parameters: app.EncodeParameters(s.Model)}, nil
	}
	return ofRound((*Queries).modelAfter)(q, s, arg)
}

// modelAfter returns the model after a closed round, or ErrNotFound if this node does not have the model. A node has
// the models after the last rounds, the final model of each epoch, and the models of checkpoints.
func (q *Queries) modelAfter(s *app.State, epoch, t uint64) (ModelState, error) {
	r, err := q.record(s, epoch, t)
	if err != nil {
		return ModelState{}, err
	}
	var data []byte
	if epoch == s.Progress.Epoch && t+1 == s.Progress.Round {
		data = app.EncodeParameters(s.Model)
	} else {
		data, err = q.storedModel(r)
	}
	if err == nil && data == nil {
		err = fmt.Errorf("%w: model after epoch %d round %d, %s; kept are the last %d of the running epoch, the final "+
			"one of each, and one of every %d",
			ErrNotFound, epoch, t, openRound(s), q.Store.KeptModels(s), q.Store.CheckpointEvery)
	}
	return ModelState{Epoch: epoch, Round: t + 1, Hash: hex.EncodeToString(r.ModelHash), Parameters: data}, err
}

// storedModel returns the model after the round of r, from the store or from the checkpoint after that
// round. If neither has the model, storedModel returns nil.
func (q *Queries) storedModel(r *app.Record) ([]byte, error) {
	data, err := q.Store.Model(r.Epoch, r.Round)
	if err != nil || data != nil {
		return data, err
	}
	k, err := q.Store.LatestCheckpoint(r.Epoch, r.Round)
	if err != nil || k == nil || k.Epoch != r.Epoch || k.Round != r.Round {
		return nil, err
	}
	s, err := app.DecodeState(r.Height, k.Document)
	if err != nil {
		return nil, err
	}
	if hash := app.ModelHash(s.Model); !bytes.Equal(hash[:], r.ModelHash) {
		return nil, nil // the round's block began an epoch with a new model
	}
	return app.EncodeParameters(s.Model), nil
}
