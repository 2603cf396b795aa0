package modelfile

import (
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/internal/printable"
)

// Verdict is the result of a verification.
type Verdict struct {
	Verified bool        `json:"verified"`
	ChainID  string      `json:"chain_id"`
	Height   int64       `json:"height"` // of the header
	Header   string      `json:"header"` // its hash
	Time     time.Time   `json:"time"`   // of the header: later changes are not verified
	AppHash  string      `json:"app_hash"`
	Trusted  int64       `json:"trusted_height"`
	Key      string      `json:"key"`
	File     string      `json:"file,omitempty"`
	Format   string      `json:"format,omitempty"`
	Card     *CardReport `json:"card,omitempty"`
	Value    any         `json:"value,omitempty"`
}

// VerdictOn returns the verdict on the value of a key, whose proof leads to a header that follows from trust.
func VerdictOn(key string, t light.Trust, b *types.LightBlock) Verdict {
	return Verdict{
		Verified: true, ChainID: b.ChainID, Height: b.Height, Header: hex.EncodeToString(b.Hash()), Time: b.Time,
		AppHash: hex.EncodeToString(b.AppHash),
		Trusted: max(t.Height, 1), Key: key,
	}
}

// Text prints the verdict, and the card of a model.
func (v Verdict) Text(w io.Writer) {
	fmt.Fprintf(w, "verified      %s\nchain         %s\nheader        %d, hash %s\ntime          %s, %v ago\n"+
		"app hash      %s\ntrusted       from height %d\n",
		v.Key, printable.Text(v.ChainID), v.Height, v.Header, v.Time.Format(time.RFC3339),
		time.Since(v.Time).Round(time.Second), v.AppHash, v.Trusted)
	if v.Card != nil {
		v.Card.Text(w)
	}
}
