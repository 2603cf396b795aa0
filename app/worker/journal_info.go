package worker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// JournalInfo is what a journal's file says of itself, for an operator. Reading it takes no lock.
type JournalInfo struct {
	ChainID string
	ID      []byte // of the participant, as app.ParticipantID
	Signed  uint64 // gradients
	Missing bool   // there is no file
	New     bool   // nothing is signed: the journal of a new home, or declared empty
}

// ReadJournalInfo reads the file of a journal.
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
		return JournalInfo{}, damaged(path, err)
	}
	return JournalInfo{ChainID: e.ChainID, ID: e.ID, Signed: e.Signed, New: e.New}, nil
}
