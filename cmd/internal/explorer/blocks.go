package explorer

import (
	"net/http"
	"time"

	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// The max number of lines in the list of blocks, and of blocks that the explorer reads for one
// list.
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
	Round    *chainview.Point // the round that it closed
	Commits  *params.RoundID  // the round that its commitments are for
}

// Run returns the number of blocks of the line.
func (l blockLine) Run() int64 { return l.Height - l.From + 1 }

// blocks lists the blocks before ?before=, newest first. Consecutive blocks without transactions
// share a line, except the newest block.
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
		Lines []blockLine
		Older int64
		Newer bool
	}{Newer: until <= status.Height}
	if b.Lines, b.Older, err = s.blockLines(r, int64(until)-1); err != nil {
		return content{}, err
	}
	for i := range b.Lines {
		if l := &b.Lines[i]; l.Txs > 0 && l.Round == nil {
			l.Commits = s.source.commitsIn(r.Context(), l.Height)
		}
	}
	return content{"blocks", "Blocks", b}, nil
}

// blockLines returns the lines of the blocks up to a height, newest first. It also returns the
// height before which the list continues, or 0 at its end.
func (s *Server) blockLines(r *http.Request, until int64) (lines []blockLine, older int64, err error) {
	who, err := s.source.owners(r.Context())
	if err != nil {
		return nil, 0, err
	}
	closed := s.closedAt()
	for at, end := until, until-blocksRead; at > 0 && at > end; at -= 20 {
		metas, err := s.source.metas(r.Context(), max(1, at-19), at)
		if err != nil {
			return nil, 0, err
		}
		for i := len(metas) - 1; i >= 0; i-- {
			l := lineOfBlock(metas[i], who, closed)
			if n := len(lines); n > 1 && l.Txs == 0 && lines[n-1].Txs == 0 && lines[n-1].From == l.Height+1 {
				lines[n-1].From = l.Height
				continue
			}
			if len(lines) == blockLines {
				return lines, l.Height + 1, nil
			}
			lines = append(lines, l)
		}
	}
	if n := len(lines); n > 0 && lines[n-1].From > 1 && until > blocksRead {
		older = lines[n-1].From
	}
	return lines, older, nil
}

// closedAt returns the rounds in the history, by the height of the block that closed each.
func (s *Server) closedAt() map[uint64]*chainview.Point {
	_, _, points, _ := s.tail.now()
	closed := map[uint64]*chainview.Point{}
	for i := range points {
		closed[points[i].Height] = &points[i]
	}
	return closed
}

func lineOfBlock(m *cmttypes.BlockMeta, who owners, closed map[uint64]*chainview.Point) blockLine {
	h := m.Header
	proposer := h.ProposerAddress.String()
	return blockLine{Height: h.Height, From: h.Height, Time: h.Time, Hash: m.BlockID.Hash.String(), Txs: m.NumTxs,
		Bytes: m.BlockSize, Proposer: proposer, Who: who[proposer], Round: closed[uint64(h.Height)]}
}
