package home

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"filippo.io/age"
	"golang.org/x/text/unicode/norm"
)

// workFactor is the binary logarithm of scrypt's cost in files that this package writes. With age's
// default, 18, scrypt takes about a second and 256 MB.
var workFactor = 18

// maxWorkFactor bounds the work factor that a file may ask for, because the file may be another's.
// scrypt takes 2^(10+n) bytes, so 1 GiB.
const maxWorkFactor = 20

var errWork = errors.New("the file asks for too much work")

// scryptRecipient returns the age recipient that encrypts with a passphrase in normal form C: one
// keyboard may type a letter as one code point, another as two.
func scryptRecipient(passphrase string) (*age.ScryptRecipient, error) {
	to, err := age.NewScryptRecipient(norm.NFC.String(passphrase))
	if err == nil {
		to.SetWorkFactor(workFactor)
	}
	return to, err
}

// scryptIdentities returns the age identities that decrypt with a passphrase in normal form C and, for
// files of earlier releases, as it was typed and in form D.
func scryptIdentities(passphrase string) (all []age.Identity, err error) {
	forms := []string{norm.NFC.String(passphrase), passphrase, norm.NFD.String(passphrase)}
	for i, form := range forms {
		if slices.Contains(forms[:i], form) {
			continue
		}
		identity, err := age.NewScryptIdentity(form)
		if err != nil {
			return nil, err
		}
		identity.SetMaxWorkFactor(maxWorkFactor)
		all = append(all, boundedIdentity{identity})
	}
	return all, nil
}

// boundedIdentity says what a file asks for beyond maxWorkFactor.
type boundedIdentity struct{ *age.ScryptIdentity }

// Unwrap implements age.Identity.
func (b boundedIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, s := range stanzas {
		if s.Type != "scrypt" || len(s.Args) != 2 {
			continue
		}
		if n, err := strconv.Atoi(s.Args[1]); err == nil && n > maxWorkFactor {
			return nil, fmt.Errorf("%w: 2^%d steps of scrypt and 2^%d bytes of memory, at most 2^%d steps", errWork, n, n+10,
				maxWorkFactor)
		}
	}
	return b.ScryptIdentity.Unwrap(stanzas)
}
