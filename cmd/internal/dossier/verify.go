package dossier

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/cmd/internal/dossier/evidence"
	"github.com/spdl/spdl/cmd/internal/dossier/page"
)

// Verdict is the result of a verification.
type Verdict struct {
	Verified bool      `json:"verified"`
	ChainID  string    `json:"chain_id"`
	First    int64     `json:"first_height"`
	Height   int64     `json:"height"` // of the header that the proofs lead to
	Header   string    `json:"header"` // its hash
	Time     time.Time `json:"time"`
	Trusted  int64     `json:"trusted_height"`
	Rounds   int       `json:"rounds"`
	Proven   int       `json:"proven"`   // sentences and rows
	Declared int       `json:"declared"` // sentences and rows without proof
	Signer   string    `json:"signer"`
	// Participant is the participant that signed the archive; null if the key belongs to none.
	Participant *uint32 `json:"participant"`
}

// A Root returns the header that a reader trusts, given the signed headers of a dossier and its
// chain's id.
type Root func(chainID string, first *types.LightBlock) (light.Trust, error)

// Verify checks the bytes of an archive against a trusted header: its headers, its proofs, every
// sentence of its page, the hashes of its files, and its signature. It needs no node.
func Verify(ctx context.Context, data []byte, root Root) (Verdict, error) {
	v, _, err := Open(ctx, data, root)
	return v, err
}

// Open verifies an archive as Verify does, and also returns the evidence.
func Open(ctx context.Context, data []byte, root Root) (Verdict, *evidence.Evidence, error) {
	contents, err := unpack(data)
	if err != nil {
		return Verdict{}, nil, err
	}
	e, err := evidence.Decode(contents[evidenceFile])
	if err != nil {
		return Verdict{}, nil, err
	}
	v, err := verify(ctx, data, contents, e, root)
	return v, e, err
}

// verify checks the contents of an archive, and that the archive is their canonical form.
func verify(ctx context.Context, data []byte, contents map[string][]byte, e *evidence.Evidence, root Root) (Verdict,
	error) {
	c, err := e.Chain()
	if err != nil {
		return Verdict{}, err
	}
	t, err := root(c.Last().ChainID, c.Signed[0])
	if err != nil {
		return Verdict{}, err
	}
	if err := c.Trust(t); err != nil {
		return Verdict{}, err
	}
	f, err := e.Prove(ctx, c)
	if err != nil {
		return Verdict{}, err
	}
	p, proven, err := render(f, e.Declared)
	if err != nil {
		return Verdict{}, fmt.Errorf("%w: %w", ErrDossier, err)
	}
	for _, name := range []string{markdownFile, htmlFile, claimsFile} {
		if changed := page.Changed(proven[name], contents[name]); changed != nil {
			return Verdict{}, fmt.Errorf("%w: %s: %s", ErrDossier, name, strings.Join(changed, "; "))
		}
	}
	if err := manifestOf(f, contents, e.Declared.Signer).check(contents[manifestFile]); err != nil {
		return Verdict{}, err
	}
	if err := canonical(data, contents); err != nil {
		return Verdict{}, err
	}
	v := Verdict{Verified: true, ChainID: f.Last().ChainID, First: f.First(), Height: f.Last().Height,
		Header: hex.EncodeToString(f.Last().Hash()), Time: f.Last().Time, Trusted: t.Height, Rounds: len(f.Records),
		Signer: hex.EncodeToString(e.Declared.Signer)}
	v.Proven, v.Declared = p.Count()
	if who, known := f.Owner(e.Declared.Signer); known {
		v.Participant = &who
	}
	return v, nil
}
