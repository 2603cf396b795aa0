package dossier

import (
	"context"
	"crypto/ed25519"
	"fmt"

	"github.com/spdl/spdl/cmd/internal/dossier/evidence"
	"github.com/spdl/spdl/cmd/internal/dossier/page"
	"github.com/spdl/spdl/cmd/internal/dossier/sheet"
)

// Write returns the archive of evidence and its author's declarations, signed with a key.
func Write(ctx context.Context, e *evidence.Evidence, program string, sheets []sheet.Sheet,
	key ed25519.PrivateKey) ([]byte,
	*page.Page, error) {
	e.Declared.Signer, e.Declared.Program = key.Public().(ed25519.PublicKey), program
	e.Declared.Sheets = append([]sheet.Sheet{}, sheets...)
	data, err := e.Encode()
	if err != nil {
		return nil, nil, err
	}
	if e, err = evidence.Decode(data); err != nil { // as a reader gets it, without what JSON drops
		return nil, nil, err
	}
	c, err := e.Chain()
	if err != nil {
		return nil, nil, err
	}
	f, err := e.Prove(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	p, contents, err := render(f, e.Declared)
	if err != nil {
		return nil, nil, err
	}
	contents[evidenceFile] = data
	if contents[manifestFile], err = manifestOf(f, contents, e.Declared.Signer).sign(key); err != nil {
		return nil, nil, err
	}
	archive, err := pack(contents)
	if err == nil && len(archive) > MaxBytes {
		err = fmt.Errorf("the dossier has %d bytes, at most %d", len(archive), MaxBytes)
	}
	return archive, p, err
}

// render returns the page of the facts, and its files.
func render(f *evidence.Facts, d evidence.Declaration) (*page.Page, map[string][]byte, error) {
	p, err := pageOf(f, d)
	if err != nil {
		return nil, nil, err
	}
	contents := map[string][]byte{}
	for _, file := range []struct {
		name  string
		bytes func() ([]byte, error)
	}{{htmlFile, p.HTML}, {markdownFile, p.Markdown}, {claimsFile, p.JSON}} {
		if contents[file.name], err = file.bytes(); err != nil {
			return nil, nil, err
		}
	}
	return p, contents, nil
}
