// Package dossier makes and verifies the dossier of a training: a signed archive with one page of
// sentences. Each sentence rests on a proof, or is marked as declared.
//
//	Write    renders the page from evidence, and signs the archive
//	Verify   checks an archive against one trusted header, without a node
//
// The page is a function of the evidence: Verify proves the evidence, renders the page again and
// compares it. docs/DOSSIER.md is its manual.
package dossier

import "github.com/spdl/spdl/cmd/internal/dossier/evidence"

// ErrDossier wraps every reason why a file is no dossier, or does not say what its evidence proves.
var ErrDossier = evidence.ErrDossier
