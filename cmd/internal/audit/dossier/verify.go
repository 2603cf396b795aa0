package dossier

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/cmd/internal/audit"
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

// Verify checks the bytes of an archive against a trusted header: its headers, its proofs, every
// sentence of its page, every other byte, and its signature. It needs no node. It also returns the evidence.
func Verify(ctx context.Context, data []byte, root audit.Root) (Verdict, *Evidence, error) {
	contents, err := unpack(data)
	if err != nil {
		return Verdict{}, nil, err
	}
	var t light.Trust
	m, err := derive(ctx, contents[evidenceFile], func(c Chain) error {
		if t, err = root(c.Last().ChainID, c.Signed[0]); err != nil {
			return err
		}
		return c.Trust(t)
	})
	if err != nil {
		return Verdict{}, nil, err
	}
	for _, name := range []string{markdownFile, htmlFile, claimsFile} {
		if changed := changed(m.files[name], contents[name]); changed != "" {
			return Verdict{}, nil, fmt.Errorf("%w: %s: %s", ErrDossier, name, changed)
		}
	}
	f, signer := m.facts, m.Declared.Signer
	if err := check(data, contents, signer); err != nil {
		return Verdict{}, nil, err
	}
	v := Verdict{Verified: true, ChainID: f.Last().ChainID, First: f.First(), Height: f.Last().Height,
		Header: hex.EncodeToString(f.Last().Hash()), Time: f.Last().Time, Trusted: t.Height, Rounds: len(f.Records),
		Signer: hex.EncodeToString(signer)}
	v.Proven, v.Declared = m.page.Count()
	if who, known := f.Owner(signer); known {
		v.Participant = &who
	}
	return v, m.Evidence, nil
}

// made is evidence with what follows from it.
type made struct {
	*Evidence
	facts *Facts
	page  *Page
	files map[string][]byte // the page in each form, by name
}

// derive decodes evidence, proves it after trust has accepted its headers, and renders the page.
func derive(ctx context.Context, data []byte, trust func(Chain) error) (m made, err error) {
	if m.Evidence, err = Decode(data); err != nil {
		return m, err
	}
	c, err := m.Chain()
	if err == nil {
		err = trust(c)
	}
	if err != nil {
		return m, err
	}
	if m.facts, err = m.Prove(ctx, c); err != nil {
		return m, err
	}
	if m.page, err = pageOf(m.facts, m.Declared); err != nil {
		return m, fmt.Errorf("%w: %w", ErrDossier, err)
	}
	m.files = map[string][]byte{}
	for name, form := range map[string]func() ([]byte, error){htmlFile: m.page.HTML, markdownFile: m.page.Markdown,
		claimsFile: m.page.JSON} {
		if m.files[name], err = form(); err != nil {
			return m, err
		}
	}
	return m, nil
}

// Write returns the archive of evidence and its author's declarations, signed with a key.
func Write(ctx context.Context, e *Evidence, program string, sheets []Sheet,
	key ed25519.PrivateKey) ([]byte, *Page, error) {
	e.Declared.Signer, e.Declared.Program = key.Public().(ed25519.PublicKey), program
	e.Declared.Sheets = append([]Sheet{}, sheets...)
	data, err := e.Encode()
	if err != nil {
		return nil, nil, err
	}
	m, err := derive(ctx, data, func(Chain) error { return nil })
	if err != nil {
		return nil, nil, err
	}
	m.files[evidenceFile], m.files[signatureFile] = data, ed25519.Sign(key, signed(data))
	archive, err := pack(m.files)
	return archive, m.page, err
}
