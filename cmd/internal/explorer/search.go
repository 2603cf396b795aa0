package explorer

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// found is one answer to a search. Query is a text whose only answer is this one.
type found struct {
	Query string `json:"query"`
	Label string `json:"label"`
	Path  string `json:"path"`
}

// suggested is the max number of answers while a reader types.
const suggested = 8

var (
	asRound  = regexp.MustCompile(`^(?:r(?:ound)?\s*)?(\d{1,18})\s*[/:]\s*(\d{1,18})$`)
	asPrefix = regexp.MustCompile(`^(block|height|b|h|round|r|participant|p)\s*(\d{1,18})$`)
	asNumber = regexp.MustCompile(`^\d{1,18}$`)
	asHex    = regexp.MustCompile(`^(?:0x)?([0-9a-fA-F]{8,64})$`)
)

// search finds blocks by height and hash, rounds by number, transactions by hash, and participants
// by index, id or name. It redirects to a single answer. The path of a redirect is the explorer's
// own, made of numbers and hexadecimal digits.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	q := strings.TrimSpace(short(r.URL.Query().Get("q"), 100))
	all, err := s.find(ctx, q)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if len(all) == 1 {
		http.Redirect(w, r, all[0].Path, http.StatusSeeOther)
		return
	}
	code := http.StatusOK
	if len(all) == 0 && q != "" {
		code = http.StatusNotFound
	}
	s.render(w, r, code, content{"search", "Search", struct {
		Asked string
		Found []found
	}{q, all}})
}

// answerSearch returns the first answers to the query ?q=, which the reader may not have finished.
func (s *Server) answerSearch(r *http.Request) (any, error) {
	all, err := s.find(r.Context(), strings.TrimSpace(short(r.URL.Query().Get("q"), 100)))
	return append([]found{}, all[:min(suggested, len(all))]...), err
}

// find returns all answers to a query.
func (s *Server) find(ctx context.Context, q string) ([]found, error) {
	status, err := known[query.Status](ctx, s.source, "/status")
	if err != nil {
		return nil, err
	}
	people, err := s.source.participants(ctx)
	if err != nil {
		return nil, err
	}
	l := &lookup{source: s.source, height: status.Height, epoch: status.Epoch, people: people}
	if l.prefixed(ctx, strings.ToLower(q)) {
		return l.found, nil
	}
	if asNumber.MatchString(q) {
		l.block(whole(q))
		l.round(ctx, l.epoch, whole(q))
		l.index(whole(q))
	}
	if m := asHex.FindStringSubmatch(q); m != nil {
		_, _, points, _ := s.tail.now()
		if err := l.hex(ctx, strings.ToLower(m[1]), points); err != nil {
			return nil, err
		}
	}
	if len(l.found) == 0 && q != "" {
		l.named(strings.ToLower(q))
	}
	return l.found, nil
}

// whole parses a whole number.
func whole(digits string) uint64 { x, _ := strconv.ParseUint(digits, 10, 63); return x }

// A lookup collects the answers to a query on a chain of a height and an epoch.
type lookup struct {
	source        *source
	height, epoch uint64
	people        []app.Participant
	found         []found
}

func (l *lookup) add(query, label, path string) { l.found = append(l.found, found{query, label, path}) }

func (l *lookup) block(height uint64) {
	if height >= 1 && height <= l.height {
		l.add(fmt.Sprintf("block %d", height), fmt.Sprintf("Block %d", height), fmt.Sprintf("/block/%d", height))
	}
}

func (l *lookup) round(ctx context.Context, epoch, t uint64) {
	if _, err := l.source.record(ctx, params.RoundID{Epoch: epoch, Round: t}); err == nil {
		at := fmt.Sprintf("%d/%d", epoch, t)
		l.add(at, fmt.Sprintf("Round %d of epoch %d", t, epoch), "/round/"+at)
	}
}

func (l *lookup) participant(p app.Participant) {
	l.add(fmt.Sprintf("p%d", p.Index), fmt.Sprintf("Participant %s (#%d)", p.Moniker, p.Index),
		fmt.Sprintf("/participant/%d", p.Index))
}

func (l *lookup) index(x uint64) {
	if x < uint64(len(l.people)) {
		l.participant(l.people[x])
	}
}

// named finds participants whose name contains a text in lower case.
func (l *lookup) named(text string) {
	for _, p := range l.people {
		if strings.Contains(strings.ToLower(p.Moniker), text) {
			l.participant(p)
		}
	}
}

// prefixed finds the answers to a query that names the kind of its answer, and reports whether it
// does.
func (l *lookup) prefixed(ctx context.Context, q string) bool {
	if m := asRound.FindStringSubmatch(q); m != nil {
		l.round(ctx, whole(m[1]), whole(m[2]))
		return true
	}
	m := asPrefix.FindStringSubmatch(q)
	if m == nil {
		return false
	}
	switch m[1][0] {
	case 'b', 'h':
		l.block(whole(m[2]))
	case 'r':
		l.round(ctx, l.epoch, whole(m[2]))
	default:
		l.index(whole(m[2]))
	}
	return true
}

// hex finds the answers to a hash, or to the first digits of a participant's id or key. It compares
// the hash only with those of the points. It does not ask the node for the records, of which there
// may be more than the cache holds.
func (l *lookup) hex(ctx context.Context, digits string, points []chainview.Point) error {
	l.keys(digits)
	hash, err := hex.DecodeString(digits)
	if err != nil || len(digits) != 64 {
		return nil
	}
	if err := l.hash(ctx, hash); err != nil {
		return err
	}
	for _, p := range points {
		if bytes.Equal(p.ModelHash, hash) || bytes.Equal(p.Delta, hash) {
			l.add(fmt.Sprintf("%d/%d", p.Epoch, p.Round), fmt.Sprintf("Round %d of epoch %d, by its model or Delta", p.Round,
				p.Epoch),
				fmt.Sprintf("/round/%d/%d", p.Epoch, p.Round))
		}
	}
	return nil
}

// keys finds the participants with an id or a key that begins with the digits.
func (l *lookup) keys(digits string) {
	for _, p := range l.people {
		for name, key := range map[string][]byte{"id": p.Id, "public key": p.PubKey, "consensus key": p.ConsensusKey} {
			if len(key) > 0 && strings.HasPrefix(hex.EncodeToString(key), digits) {
				l.add(fmt.Sprintf("p%d", p.Index), fmt.Sprintf("Participant %s (#%d) by its %s", p.Moniker, p.Index, name),
					fmt.Sprintf("/participant/%d", p.Index))
			}
		}
	}
}

// hash finds the transaction and the block of a hash.
func (l *lookup) hash(ctx context.Context, hash []byte) error {
	switch got, err := l.source.blocks.Tx(ctx, hash, false); {
	case err == nil && got != nil:
		l.add(fmt.Sprintf("%x", hash), fmt.Sprintf("Transaction %x", hash), fmt.Sprintf("/tx/%x", hash))
	case err != nil && !absent(err):
		return err
	}
	switch got, err := l.source.blocks.BlockByHash(ctx, hash); {
	case err == nil && got != nil && got.Block != nil:
		l.add(fmt.Sprintf("block %d", got.Block.Height), fmt.Sprintf("Block %d", got.Block.Height),
			fmt.Sprintf("/block/%d", got.Block.Height))
	case err != nil && !absent(err):
		return err
	}
	return nil
}
