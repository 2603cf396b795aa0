package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/libs/protoio"
	protomem "github.com/cometbft/cometbft/proto/tendermint/mempool"
	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app/tx"
)

// maxVerdicts is the max size in bytes of the answer to a request with abci.MaxTxs transactions.
const maxVerdicts = 1 << 20

// BroadcastAll submits 1 to abci.MaxTxs transactions as Broadcast does, and returns an error or nil
// for each. It sends them in one request to abci.TxsPath. If the node or a proxy does not serve that
// path, or rejects the request, BroadcastAll calls Broadcast for each transaction. Later calls omit
// the path if Broadcast reaches a node that does not serve it.
func (c *Client) BroadcastAll(ctx context.Context, txs []*tx.Tx) []error {
	errs, lacksPath := make([]error, len(txs)), false
	if !c.lacksTxs.Load() {
		status, answers, err := c.postTxs(ctx, txs)
		switch {
		case answers != nil:
			for i, a := range answers {
				errs[i] = verdictOf(a)
			}
			return errs
		case status == 0 || isAway(status):
			for i := range errs {
				errs[i] = verdict(nil, err)
			}
			return errs
		}
		lacksPath = status != http.StatusRequestEntityTooLarge && status != http.StatusInternalServerError
	}
	for i, t := range txs {
		if errs[i] = c.Broadcast(ctx, t); lacksPath && !errors.Is(errs[i], ErrUnreachable) {
			c.lacksTxs.Store(true)
		}
	}
	return errs
}

// isAway reports whether a status means that a proxy does not reach the node, or limits the client.
func isAway(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	}
	return false
}

// verdictOf turns the node's answer to one transaction into an error or nil.
func verdictOf(a *abcitypes.Response) error {
	if v := a.GetCheckTx(); v != nil {
		return verdict(&coretypes.ResultBroadcastTx{Code: v.Code, Log: v.Log}, nil)
	}
	fault := errors.New(a.GetException().GetError())
	return verdict(nil, rpctypes.RPCInternalError(rpctypes.JSONRPCIntID(-1), fault).Error)
}

// postTxs posts transactions to abci.TxsPath and returns the answer to each. The status is 0 if
// there was no HTTP answer. answers is nil and err is not if the answer is not one of that path.
func (c *Client) postTxs(ctx context.Context, txs []*tx.Tx) (status int, answers []*abcitypes.Response, err error) {
	request := protomem.Txs{Txs: make([][]byte, len(txs))}
	for i, t := range txs {
		request.Txs[i] = t.Raw
	}
	body, err := request.Marshal()
	if err != nil {
		return 0, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.txsAddress(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", abci.TxsType)
	answer, err := c.plain.Do(r) // limitedTransport would return an error for 404 and 405
	if err != nil {
		return 0, nil, checkAnswer(r, nil, err)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxVerdicts))
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return 0, nil, err
	}
	if answer.StatusCode == http.StatusOK && answer.Header.Get("Content-Type") == abci.TxsType {
		answers, err = decodeVerdicts(data, len(txs))
	} else {
		err = errors.New("an answer without verdicts")
	}
	if err != nil {
		return answer.StatusCode, nil, fmt.Errorf("%s: %w", answer.Status, err)
	}
	return answer.StatusCode, answers, nil
}

// decodeVerdicts decodes the answer to n transactions.
func decodeVerdicts(data []byte, n int) ([]*abcitypes.Response, error) {
	r, all := bytes.NewReader(data), make([]*abcitypes.Response, n)
	one := protoio.NewDelimitedReader(r, len(data))
	for i := range all {
		all[i] = new(abcitypes.Response)
		if _, err := one.ReadMsg(all[i]); err != nil {
			return nil, fmt.Errorf("verdict %d of %d: %w", i, n, err)
		}
		if all[i].GetCheckTx() == nil && all[i].GetException() == nil {
			return nil, fmt.Errorf("verdict %d of %d is a %T", i, n, all[i].Value)
		}
	}
	if r.Len() > 0 {
		return nil, fmt.Errorf("%d bytes after %d verdicts", r.Len(), n)
	}
	return all, nil
}

// txsAddress returns the URL of abci.TxsPath. The transport of a client for a Unix socket dials the
// socket for every host.
func (c *Client) txsAddress() string {
	at := strings.TrimSuffix(c.address, "/")
	if strings.HasPrefix(at, "unix:") {
		at = "http://localhost"
	} else if rest, found := strings.CutPrefix(at, "tcp://"); found {
		at = "http://" + rest
	}
	return at + abci.TxsPath
}
