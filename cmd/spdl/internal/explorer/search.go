package explorer

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/spdl/spdl/app"
)

// found is one answer to a search.
type found struct{ Label, Path string }

var (
	asRound  = regexp.MustCompile(`^(?:r(?:ound)?\s*)?(\d{1,18})\s*[/:]\s*(\d{1,18})$`)
	asPrefix = regexp.MustCompile(`^(block|height|b|h|round|r|participant|p)\s*(\d{1,18})$`)
	asNumber = regexp.MustCompile(`^\d{1,18}$`)
	asHex    = regexp.MustCompile(`^(?:0x)?([0-9a-fA-F]{8,64})$`)
)

// search finds blocks by height and hash, rounds by number, transactions by
// hash, participants by index, id or name. One answer is gone to at once. The
// paths are ours, made of numbers and hexadecimal digits.
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
	s.render(w, r, code, view{"search", "Search", struct {
		Asked string
		Found []found
	}{q, all}})
}

func (s *Server) find(ctx context.Context, q string) (out []found, err error) {
	status, err := s.source.status(ctx)
	if err != nil {
		return nil, err
	}
	people, err := s.source.participants(ctx)
	if err != nil {
		return nil, err
	}
	add := func(label, path string) { out = append(out, found{label, path}) }
	height := func(x uint64) {
		if x >= 1 && x <= status.Height {
			add(fmt.Sprintf("Block %d", x), fmt.Sprintf("/block/%d", x))
		}
	}
	round := func(epoch, t uint64) {
		if _, err := s.source.record(ctx, place{epoch, t}); err == nil {
			add(fmt.Sprintf("Round %d of epoch %d", t, epoch), fmt.Sprintf("/round/%d/%d", epoch, t))
		}
	}
	participant := func(p app.Participant) {
		add(fmt.Sprintf("Participant %d, %s", p.Index, p.Moniker), fmt.Sprintf("/participant/%d", p.Index))
	}
	index := func(x uint64) {
		if x < uint64(len(people)) {
			participant(people[x])
		}
	}
	whole := func(text string) uint64 { x, _ := strconv.ParseUint(text, 10, 63); return x }
	low := strings.ToLower(q)
	if m := asRound.FindStringSubmatch(low); m != nil {
		round(whole(m[1]), whole(m[2]))
		return out, nil
	}
	if m := asPrefix.FindStringSubmatch(low); m != nil {
		switch m[1][0] {
		case 'b', 'h':
			height(whole(m[2]))
		case 'r':
			round(status.Epoch, whole(m[2]))
		default:
			index(whole(m[2]))
		}
		return out, nil
	}
	if asNumber.MatchString(q) {
		height(whole(q))
		round(status.Epoch, whole(q))
		index(whole(q))
	}
	if m := asHex.FindStringSubmatch(q); m != nil {
		if more, err := s.hashes(ctx, strings.ToLower(m[1]), people); err != nil {
			return nil, err
		} else {
			out = append(out, more...)
		}
	}
	if len(out) == 0 && q != "" {
		for _, p := range people {
			if strings.Contains(strings.ToLower(p.Moniker), low) {
				participant(p)
			}
		}
	}
	return out, nil
}

// hashes finds what a hash, or the beginning of an id, names.
func (s *Server) hashes(ctx context.Context, digits string, people []app.Participant) (out []found, err error) {
	for _, p := range people {
		for name, bytes := range map[string][]byte{"id": p.Id, "public key": p.PubKey, "consensus key": p.ConsensusKey} {
			if len(bytes) > 0 && strings.HasPrefix(hex.EncodeToString(bytes), digits) {
				out = append(out, found{fmt.Sprintf("Participant %d by its %s", p.Index, name), fmt.Sprintf("/participant/%d", p.Index)})
			}
		}
	}
	if len(digits) != 64 {
		return out, nil
	}
	hash, err := hex.DecodeString(digits)
	if err != nil {
		return out, nil
	}
	switch got, err := s.source.blocks.Tx(ctx, hash, false); {
	case err == nil && got != nil:
		out = append(out, found{"Transaction " + digits, "/tx/" + digits})
	case err != nil && !absent(err):
		return nil, err
	}
	switch got, err := s.source.blocks.BlockByHash(ctx, hash); {
	case err == nil && got != nil && got.Block != nil:
		out = append(out, found{fmt.Sprintf("Block %d", got.Block.Height), fmt.Sprintf("/block/%d", got.Block.Height)})
	case err != nil && !absent(err):
		return nil, err
	}
	_, _, points, _ := s.tail.now()
	for _, p := range points {
		r, err := s.source.record(ctx, place{p.Epoch, p.Round})
		if err != nil {
			return nil, err
		}
		if hex.EncodeToString(r.ModelHash) == digits || hex.EncodeToString(r.DeltaDigest) == digits {
			out = append(out, found{fmt.Sprintf("Round %d of epoch %d, by its model or Delta", r.Round, r.Epoch), fmt.Sprintf("/round/%d/%d", r.Epoch, r.Round)})
		}
	}
	return out, nil
}
