package worker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// JournalInfo is a summary of a journal's file for an operator.
type JournalInfo struct {
	ChainID string
	ID      []byte // the participant's id, as from app.ParticipantID
	Signed  uint64 // the number of signed gradients
	Unit    string // the unit of privacy of their ledger; empty before the first, and in older journals
	Missing bool   // whether the file is missing
	New     bool   // whether nothing is signed: the journal of a new home, or {} from the operator
}

// ReadJournalInfo returns the summary of the journal at the given path. It does not take the
// journal's lock. It fails with ErrDamaged if the file cannot be decoded.
func ReadJournalInfo(path string) (JournalInfo, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return JournalInfo{Missing: true}, nil
	case err != nil:
		return JournalInfo{}, fmt.Errorf("journal: %w", err)
	case string(bytes.TrimSpace(data)) == "{}":
		return JournalInfo{New: true}, nil
	}
	e, _, err := readEntries(data)
	if err != nil {
		return JournalInfo{}, damagedError(path, err)
	}
	return JournalInfo{ChainID: e.ChainID, ID: e.ID, Signed: e.Signed, Unit: e.Unit, New: e.New}, nil
}
