package pages

import (
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// The max number of lines in the list of blocks, and of blocks that the explorer reads for one list.
const blockLines, blocksRead = 25, 200

// blockLine is a line of a list: one block, or consecutive blocks without transactions.
type blockLine struct {
	Height   int64 // the highest height of the line
	From     int64 // the lowest height of the line
	Time     time.Time
	Hash     string
	Txs      int
	Bytes    int
	Proposer string
	Who      *app.Participant // the proposer, nil if it is unknown
	Turn     *chainview.Turn  // what it did for a round; nil if nothing, or if it was not read
}

// Run returns the number of blocks of the line.
func (l blockLine) Run() int64 { return l.Height - l.From + 1 }

// blocks lists the blocks before ?before=, newest first. Consecutive blocks without transactions
// share a line, except the newest block.
func blocks(r *Request) Content {
	status := chainview.Ask[query.Status](r.Reader, "/status")
	until := min(status.Height+1, r.NumberOr("before", status.Height+1))
	b := struct {
		Lines []blockLine
		Older int64
		Newer bool
	}{Newer: until <= status.Height}
	b.Lines, b.Older = r.blockLines(int64(until) - 1)
	for i := range b.Lines {
		if l := &b.Lines[i]; l.Txs > 0 && l.Turn == nil {
			l.Turn = r.Turn(l.Height)
		}
	}
	return Content{"blocks", "Blocks", b}
}

// blockLines returns the lines of the blocks up to a height, newest first. It also returns the
// height before which the list continues, or 0 at its end.
func (r *Request) blockLines(until int64) (lines []blockLine, older int64) {
	who := r.Owners()
	now, _ := r.Now()
	closed := closedIn(now)
	for at, end := until, until-blocksRead; at > 0 && at > end && r.Err() == nil; at -= 20 {
		metas, err := r.Headers(max(1, at-19), at)
		r.Fail(err)
		for i := len(metas) - 1; i >= 0; i-- {
			l := lineOfBlock(metas[i], who, closed)
			if n := len(lines); n > 1 && l.Txs == 0 && lines[n-1].Txs == 0 && lines[n-1].From == l.Height+1 {
				lines[n-1].From = l.Height
				continue
			}
			if len(lines) == blockLines {
				return lines, l.Height + 1
			}
			lines = append(lines, l)
		}
	}
	if n := len(lines); n > 0 && lines[n-1].From > 1 && until > blocksRead {
		older = lines[n-1].From
	}
	return lines, older
}

// closedIn returns the closings of a course's rounds, by the heights of their blocks.
func closedIn(now chainview.Course) map[uint64]*chainview.Turn {
	closed := map[uint64]*chainview.Turn{}
	for _, p := range now.Points {
		closed[p.Height] = &chainview.Turn{RoundID: p.ID(), Closes: true}
	}
	return closed
}

func lineOfBlock(m *cmttypes.BlockMeta, who chainview.Owners, closed map[uint64]*chainview.Turn) blockLine {
	h := m.Header
	proposer := h.ProposerAddress.String()
	return blockLine{Height: h.Height, From: h.Height, Time: h.Time, Hash: m.BlockID.Hash.String(), Txs: m.NumTxs,
		Bytes: m.BlockSize, Proposer: proposer, Who: who[proposer], Turn: closed[uint64(h.Height)]}
}

// blockPage is a block with its transactions, events and votes, and the round that it closed.
type blockPage struct {
	Hash        string
	Header      cmttypes.Header
	Bytes       int
	Proposer    *app.Participant
	Votes       *chainview.Votes // the votes on this block; nil if the node does not have them
	Txs         []txLine
	Pager       pager
	Events      []abcitypes.Event
	Results     bool
	Turn        *chainview.Turn
	Evidence    int
	Older, Next int64 // heights; 0 if there is no such block
}

// block shows a block.
func block(r *Request) Content {
	height := int64(r.Number("height", r.PathValue("height")))
	got, id := r.Block(height)
	results, events, kept := r.BlockResults(height)
	who, people := r.Owners(), r.Participants()
	if r.Err() != nil {
		return Content{}
	}
	now, err := r.Now()
	b := blockPage{Hash: id.Hash.String(), Header: got.Header, Bytes: got.Size(), Evidence: len(got.Evidence.Evidence),
		Older: height - 1, Turn: chainview.TurnOf(got.Txs), Votes: r.VotesOn(height, who),
		Proposer: who[got.ProposerAddress.String()], Results: kept, Events: eventsOf(events)}
	if err == nil && uint64(height) < now.Status.Height {
		b.Next = height + 1
	}
	var txs cmttypes.Txs
	txs, b.Pager = pageOf(r, got.Txs)
	for i, raw := range txs {
		var result *abcitypes.ExecTxResult
		if n := b.Pager.From - 1 + i; n < len(results) {
			result = results[n]
		}
		b.Txs = append(b.Txs, lineOf(raw, result, people))
	}
	return Content{"block", fmt.Sprintf("Block %d", height), b}
}

// txLine is a transaction in a list.
type txLine struct {
	Hash, Kind string
	Bytes      int
	Code       uint32
	Log        string
	Sender     *uint32
	Who        *app.Participant // the sender, nil if it is unknown
}

// lineOf returns a transaction as a line of a list. Its result is nil if the node keeps none.
func lineOf(raw cmttypes.Tx, result *abcitypes.ExecTxResult, people []app.Participant) txLine {
	l := txLine{Hash: hex.EncodeToString(raw.Hash()), Kind: "undecodable", Bytes: len(raw)}
	if t, err := tx.Decode(raw); err == nil {
		l.Kind = t.Kind().String()
		if place, ok := tx.PlaceOf(t); ok {
			l.Sender = &place.Participant
		} else if d, err := app.Describe(t); err == nil && d.Sent {
			l.Sender = &d.Participant
		}
		l.Who = whoOf(people, l.Sender)
	}
	if result != nil {
		l.Code, l.Log = result.Code, Short(result.Log, 300)
	}
	return l
}

// whoOf returns the participant of an index, nil if there is none.
func whoOf(people []app.Participant, index *uint32) *app.Participant {
	if index == nil || int64(*index) >= int64(len(people)) {
		return nil
	}
	return &people[*index]
}

// eventsOf returns the first events of a block or a transaction, with long values cut.
func eventsOf(events []abcitypes.Event) (out []abcitypes.Event) {
	for _, e := range events[:min(len(events), 200)] {
		e.Attributes = slices.Clone(e.Attributes)
		for i := range e.Attributes {
			e.Attributes[i].Value = Short(e.Attributes[i].Value, 300)
		}
		out = append(out, e)
	}
	return out
}
