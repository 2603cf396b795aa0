package explorer

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

func asRefusal(err error, to **client.Refusal) bool { return errors.As(err, to) }

// blockLine is a block in a list.
type blockLine struct {
	Height   int64
	Time     time.Time
	Hash     string
	Txs      int
	Bytes    int
	Proposer string
	Who      *app.Participant // the proposer, nil if it is unknown
	Round    *Point           // the round that it closed
}

// blocks lists blocks, 20 a page, by ?before=.
func (s *Server) blocks(r *http.Request) (content, error) {
	status, err := known[query.Status](r.Context(), s.source, "/status")
	if err != nil {
		return content{}, err
	}
	until := status.Height + 1
	if q := r.URL.Query().Get("before"); q != "" {
		x, err := number("before", q)
		if err != nil {
			return content{}, err
		}
		until = min(until, x)
	}
	b := struct {
		Lines        []blockLine
		Older, Newer uint64
	}{}
	if until > 1 {
		from := int64(until) - min(int64(until)-1, 20)
		metas, err := s.source.metas(r.Context(), from, int64(until)-1)
		if err != nil {
			return content{}, err
		}
		who, err := s.source.owners(r.Context())
		if err != nil {
			return content{}, err
		}
		_, _, points, _ := s.tail.now()
		closed := map[uint64]*Point{}
		for i := range points {
			closed[points[i].Height] = &points[i]
		}
		for _, m := range slices.Backward(metas) {
			b.Lines = append(b.Lines, blockLine{
				Height: m.Header.Height, Time: m.Header.Time, Hash: m.BlockID.Hash.String(), Txs: m.NumTxs, Bytes: m.BlockSize,
				Proposer: m.Header.ProposerAddress.String(), Who: who[m.Header.ProposerAddress.String()],
				Round: closed[uint64(m.Header.Height)],
			})
		}
		if from > 1 {
			b.Older = uint64(from)
		}
	}
	if until < status.Height+1 {
		b.Newer = min(until+20, status.Height+1)
	}
	return content{"blocks", "Blocks", b}, nil
}

// txLine is a transaction in a list.
type txLine struct {
	Hash, Kind string
	Bytes      int
	Code       uint32
	Log        string
	Sender     *uint32
}

// lineOf returns a transaction as a line of a list. Its result is nil if the node keeps none.
func lineOf(raw cmttypes.Tx, result *abcitypes.ExecTxResult) txLine {
	l := txLine{Hash: hex.EncodeToString(raw.Hash()), Kind: "undecodable", Bytes: len(raw)}
	if t, err := tx.Decode(raw); err == nil {
		l.Kind, l.Sender = t.Kind().String(), sender(t)
	}
	if result != nil {
		l.Code, l.Log = result.Code, short(result.Log, 300)
	}
	return l
}

// sender returns the participant that sent a transaction, if any.
func sender(t *tx.Tx) *uint32 {
	if place, ok := tx.PlaceOf(t); ok {
		return &place.Participant
	}
	if d, err := app.Describe(t); err == nil && d.Sent {
		return &d.Participant
	}
	return nil
}

// eventLine is an event as pages show it.
type eventLine struct {
	Type       string
	Attributes []abcitypes.EventAttribute
}

// eventsOf returns the first events of a block or a transaction, with long values cut.
func eventsOf(events []abcitypes.Event) []eventLine {
	var out []eventLine
	for _, e := range events[:min(len(events), 200)] {
		l := eventLine{Type: e.Type}
		for _, a := range e.Attributes {
			a.Value = short(a.Value, 300)
			l.Attributes = append(l.Attributes, a)
		}
		out = append(out, l)
	}
	return out
}

// block shows a block: its transactions, events and votes, and the round that it closed.
func (s *Server) block(r *http.Request) (content, error) {
	x, err := number("height", r.PathValue("height"))
	if err != nil {
		return content{}, err
	}
	height := int64(x)
	got, err := s.source.blocks.Block(r.Context(), &height)
	if err != nil {
		return content{}, err
	}
	if got.Block == nil {
		return content{}, fmt.Errorf("%w: block %d", errNotFound, height)
	}
	b := struct {
		Hash     string
		Header   cmttypes.Header
		Bytes    int
		Votes    int
		Signed   int
		Missing  []signer
		Proposer *app.Participant
		Txs      []txLine
		Pager    pager
		Events   []eventLine
		Results  bool
		Closed   *Point
		Evidence int
		Older    int64
	}{Hash: got.BlockID.Hash.String(), Header: got.Block.Header, Bytes: got.Block.Size(),
		Evidence: len(got.Block.Evidence.Evidence), Older: height - 1}
	if c := got.Block.LastCommit; c != nil {
		b.Votes, b.Missing = len(c.Signatures), s.missing(r, c)
		b.Signed = signatures(c)
	}
	if who, err := s.source.owners(r.Context()); err == nil {
		b.Proposer = who[got.Block.ProposerAddress.String()]
	}
	results, err := s.source.blocks.BlockResults(r.Context(), &height)
	if err == nil {
		b.Results, b.Events = true, eventsOf(results.FinalizeBlockEvents)
	} else if !absent(err) {
		return content{}, err
	}
	txs, at, err := pageOf(r, got.Block.Txs)
	if err != nil {
		return content{}, err
	}
	b.Pager = at
	for i, raw := range txs {
		var result *abcitypes.ExecTxResult
		if n := at.From - 1 + i; b.Results && n < len(results.TxsResults) {
			result = results.TxsResults[n]
		}
		b.Txs = append(b.Txs, lineOf(raw, result))
	}
	_, _, points, _ := s.tail.now()
	for i := range points {
		if points[i].Height == x {
			b.Closed = &points[i]
		}
	}
	return content{"block", fmt.Sprintf("Block %d", height), b}, nil
}

// shownBytes is the max number of bytes of a transaction on a page.
const shownBytes = 1024

// tx shows a transaction.
func (s *Server) tx(r *http.Request) (content, error) {
	hash, err := hex.DecodeString(r.PathValue("hash"))
	if err != nil || len(hash) != 32 {
		return content{}, fmt.Errorf("%w: a transaction's hash has 64 hexadecimal digits", errBad)
	}
	got, err := s.source.blocks.Tx(r.Context(), hash, false)
	if err != nil {
		return content{}, err
	}
	b := struct {
		txLine
		Height    int64
		Index     uint32
		Fields    []field
		Events    []eventLine
		Raw       string
		Cut       bool
		Signature string
	}{txLine: lineOf(got.Tx, &got.TxResult), Height: got.Height, Index: got.Index, Events: eventsOf(got.TxResult.Events)}
	b.Raw, b.Cut = hex.EncodeToString(got.Tx[:min(len(got.Tx), shownBytes)]), len(got.Tx) > shownBytes
	if t, err := tx.Decode(got.Tx); err == nil {
		b.Fields, b.Signature = fieldsOf(t), hex.EncodeToString(t.Signature)
	}
	return content{"tx", "Transaction", b}, nil
}

// field is a named part of a transaction, as text.
type field struct{ Name, Value string }

// fieldsOf returns the fields of a transaction as text.
func fieldsOf(t *tx.Tx) []field {
	var out []field
	add := func(name string, value any) { out = append(out, field{name, fmt.Sprint(value)}) }
	switch b := t.Body.(type) {
	case *tx.Gradient:
		add("epoch", b.Epoch)
		add("round", b.Round)
		add("participant", b.Participant)
		add("payload", fmt.Sprintf("%d bytes", len(b.Payload)))
		add("VRF proof", hex.EncodeToString(b.VrfProof))
	case *tx.Aggregate:
		add("epoch", b.Epoch)
		add("round", b.Round)
		add("leader", b.Leader)
		add("view", b.View)
		var in []uint32
		for _, x := range b.Included {
			in = append(in, x.Participant)
		}
		add("included", listed(in))
		add("digest of Delta", hex.EncodeToString(b.Digest))
		add("Delta", fmt.Sprintf("%d bytes", len(b.Delta)))
	default:
		d, err := app.Describe(t)
		if err != nil {
			add("not described", err)
		}
		for _, a := range append(d.Attributes, d.Details...) {
			add(a.Key, a.Value)
		}
	}
	return out
}

// upBlocks is the number of blocks over which a validator's uptime is computed.
const upBlocks = 50

// validators shows the validator set, and how many of the last upBlocks blocks each has signed.
func (s *Server) validators(r *http.Request) (content, error) {
	who, err := s.source.owners(r.Context())
	if err != nil {
		return content{}, err
	}
	type line struct {
		Address         string
		Power, Priority int64
		Who             *app.Participant
		Signed          int
		Last            int64 // height
	}
	b := struct {
		Height int64
		Power  int64
		Looked int // number of blocks
		Lines  []line
	}{}
	all, at, err := s.source.validatorsAt(r.Context(), nil)
	if err != nil {
		return content{}, err
	}
	b.Height = at
	for _, v := range all {
		b.Power += v.VotingPower
		b.Lines = append(b.Lines, line{Address: v.Address.String(), Power: v.VotingPower, Priority: v.ProposerPriority,
			Who: who[v.Address.String()]})
	}
	for height := at - 1; height > 0 && height >= at-upBlocks; height-- {
		by, ok := s.source.signed(r.Context(), height)
		if !ok {
			break
		}
		b.Looked++
		for i := range b.Lines {
			if by[b.Lines[i].Address] {
				b.Lines[i].Signed++
				b.Lines[i].Last = max(b.Lines[i].Last, height)
			}
		}
	}
	return content{"validators", "Validators", b}, nil
}

// signatures returns the number of validators that signed a commit.
func signatures(c *cmttypes.Commit) (n int) {
	for _, v := range c.Signatures {
		if v.BlockIDFlag == cmttypes.BlockIDFlagCommit {
			n++
		}
	}
	return n
}

// missing lists the validators that did not sign a block's last commit, with their participants if
// known. It returns nil if the node does not have the validator set.
func (s *Server) missing(r *http.Request, c *cmttypes.Commit) []signer {
	if signatures(c) == len(c.Signatures) {
		return nil
	}
	all, _, err := s.source.validatorsAt(r.Context(), &c.Height)
	who, failed := s.source.owners(r.Context())
	if err != nil || failed != nil || len(all) != len(c.Signatures) {
		return nil
	}
	var out []signer
	for i, v := range c.Signatures {
		if v.BlockIDFlag != cmttypes.BlockIDFlagCommit {
			address := all[i].Address.String()
			out = append(out, signer{address, who[address]})
		}
	}
	return out
}

// signer is a validator and the participant that it belongs to, nil if none is known.
type signer struct {
	Address string
	Who     *app.Participant
}
