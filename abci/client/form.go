package client

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"

	"github.com/spdl/spdl/app/tx"
)

// maxForm is the max size in bytes of a transaction that BroadcastForm sends as a form. A form has
// hexadecimal digits, which take more bytes than base64, and the node limits the size of a request.
const maxForm = 64 << 10

// BroadcastForm does what Broadcast does, at less than half of the cost to client and node: it
// posts a form, which the node reads without JSON. For a transaction above maxForm, and for a Unix
// socket, it calls Broadcast.
func (c *Client) BroadcastForm(ctx context.Context, t *tx.Tx) error {
	at, found := strings.CutPrefix(c.address, "tcp://")
	if found {
		at = "http://" + at
	}
	if len(t.Raw) > maxForm || !strings.HasPrefix(at, "http") {
		return c.Broadcast(ctx, t)
	}
	return verdict(c.form(ctx, strings.TrimSuffix(at, "/")+"/broadcast_tx_sync", t.Raw))
}

// form posts a transaction and returns CheckTx's answer.
func (c *Client) form(ctx context.Context, at string, raw []byte) (*coretypes.ResultBroadcastTx, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader("tx=0x"+hex.EncodeToString(raw)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a, err := c.web.Do(r)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(a.Body)
	if err = errors.Join(err, a.Body.Close()); err != nil {
		return nil, err
	}
	var answer struct {
		Result *coretypes.ResultBroadcastTx `json:"result"`
		Error  *rpctypes.RPCError           `json:"error"`
	}
	err = json.Unmarshal(data, &answer)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", a.Status, err)
	case answer.Error != nil:
		return nil, answer.Error
	case answer.Result == nil:
		return nil, fmt.Errorf("%s: an answer without a result", a.Status)
	}
	return answer.Result, nil
}
