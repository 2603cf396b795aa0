package pages

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cometbft/cometbft/crypto/ed25519"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// Found is one answer to a search. Query is a text whose only answer is this one.
type Found struct {
	Query string `json:"query"`
	Label string `json:"label"`
	Path  string `json:"path"`
}

var (
	asRound = regexp.MustCompile(`^(?:r(?:ound)?\s*)?(\d{1,18})\s*[/:]\s*(\d{1,18})$`)
	asOne   = regexp.MustCompile(`^(?:(b|block|h|height|r|round|p|participant)\s*)?(\d{1,18})$`)
	asHex   = regexp.MustCompile(`^(?:0x)?([0-9a-fA-F]{8,64})$`)
)

// Find returns all answers to the query ?q=: blocks by height and hash, rounds by number, transactions by hash, and
// participants by index, id, key, address, node or name. Their paths are the explorer's own, made of numbers and
// hexadecimal digits.
func Find(r *Request) (q string, found []Found) {
	q = strings.TrimSpace(Short(r.Value("q"), 100))
	status, people := chainview.Ask[query.Status](r.Reader, "/status"), r.Participants()
	if r.Err() != nil {
		return q, nil
	}
	l := &lookup{Request: r, height: status.Height, epoch: status.Epoch, people: people}
	lower := strings.ToLower(q)
	if m := asRound.FindStringSubmatch(lower); m != nil {
		l.round(whole(m[1]), whole(m[2]))
		return q, l.found
	}
	if m := asOne.FindStringSubmatch(lower); m != nil {
		l.numbered((m[1] + " ")[0], whole(m[2]))
		if m[1] != "" {
			return q, l.found
		}
	}
	if m := asHex.FindStringSubmatch(q); m != nil {
		l.hex(strings.ToLower(m[1]))
	}
	if len(l.found) == 0 && q != "" {
		l.named(lower)
	}
	return q, l.found
}

// Answers is the page of the answers to a query.
func Answers(asked string, all []Found) Content {
	return Content{"search", "Search", struct {
		Asked string
		Found []Found
	}{asked, all}}
}

// whole parses a whole number.
func whole(digits string) uint64 { x, _ := strconv.ParseUint(digits, 10, 63); return x }

// A lookup collects the answers to a query on a chain of a height and an epoch.
type lookup struct {
	*Request
	height, epoch uint64
	people        []app.Participant
	found         []Found
}

func (l *lookup) add(query, label, path string) { l.found = append(l.found, Found{query, label, path}) }

func (l *lookup) block(height uint64) {
	if height >= 1 && height <= l.height {
		l.add(fmt.Sprintf("block %d", height), fmt.Sprintf("Block %d", height), fmt.Sprintf("/block/%d", height))
	}
}

func (l *lookup) round(epoch, t uint64) {
	at := params.RoundID{Epoch: epoch, Round: t}
	try := l.Chain.Reader(l.Ctx)
	if try.Record(at); try.Err() == nil {
		l.add(at.String(), fmt.Sprintf("Round %d of epoch %d", t, epoch), "/round/"+at.String())
	}
}

func (l *lookup) participant(p app.Participant, by string) {
	l.add(fmt.Sprintf("p%d", p.Index), fmt.Sprintf("Participant %s (#%d)%s", p.Moniker, p.Index, by),
		fmt.Sprintf("/participant/%d", p.Index))
}

// numbered finds what has a number: the kind that begins with a letter, or all kinds for a space.
func (l *lookup) numbered(kind byte, x uint64) {
	if strings.IndexByte("bh ", kind) >= 0 {
		l.block(x)
	}
	if strings.IndexByte("r ", kind) >= 0 {
		l.round(l.epoch, x)
	}
	if strings.IndexByte("p ", kind) >= 0 && x < uint64(len(l.people)) {
		l.participant(l.people[x], "")
	}
}

// named finds participants whose name contains a text in lower case.
func (l *lookup) named(text string) {
	for _, p := range l.people {
		if strings.Contains(strings.ToLower(p.Moniker), text) {
			l.participant(p, "")
		}
	}
}

// hex finds the answers to a hash, or to the first digits of a model's or a Delta's hash, or of a participant's id or
// key. It compares the digits only with those of the course. It does not ask the node for the records, of which there
// may be more than the cache holds.
func (l *lookup) hex(digits string) {
	l.keys(digits)
	now, _ := l.Now()
	for _, p := range now.Points {
		if at := p.ID().String(); slices.ContainsFunc([][]byte{p.ModelHash, p.Delta}, func(hash []byte) bool {
			return strings.HasPrefix(hex.EncodeToString(hash), digits)
		}) {
			l.add(at, fmt.Sprintf("Round %d of epoch %d, by its model or Delta", p.Round, p.Epoch), "/round/"+at)
		}
	}
	hash, err := hex.DecodeString(digits)
	if err != nil || len(digits) != 64 {
		return
	}
	try := l.Chain.Reader(l.Ctx)
	if raw, _, _, _ := try.Transaction(hash); raw != nil {
		l.add(digits, "Transaction "+digits, "/tx/"+digits)
	}
	if err := try.Err(); err != nil && !chainview.Missing(err) {
		l.Fail(err)
	}
	l.block(uint64(l.HeightOf(hash)))
}

// keys finds the participants with an id or a key that begins with the digits.
func (l *lookup) keys(digits string) {
	for _, p := range l.people {
		names := map[string][]byte{"id": p.Id, "public key": p.PubKey, "consensus key": p.ConsensusKey}
		if len(p.ConsensusKey) == ed25519.PubKeySize {
			names["validator's address"] = ed25519.PubKey(p.ConsensusKey).Address()
		}
		for _, id := range p.NodeIds {
			names["node "+id], _ = hex.DecodeString(id)
		}
		for name, key := range names {
			if len(key) > 0 && strings.HasPrefix(hex.EncodeToString(key), digits) {
				l.participant(p, " by its "+name)
			}
		}
	}
}
