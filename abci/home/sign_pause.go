package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cometbft/cometbft/config"
)

// PauseBlocks is the number of consecutive blocks without a vote of the home's validator that end a SignPause.
const PauseBlocks = 2

// SignPause records, in a file in the data folder of a home, that the earlier signatures of the
// home's validator are not known. While the file exists, the validator signs nothing.
type SignPause struct {
	Since time.Time `json:"since"` // when the pause began, on this host's clock
}

// SignPauseFile returns the path of the file of a home's SignPause.
func SignPauseFile(c *config.Config) string {
	return filepath.Join(c.DBDir(), "validator_pause.json")
}

// ReadSignPause returns the SignPause of a home, nil if the home has none.
func ReadSignPause(c *config.Config) (*SignPause, error) {
	path := SignPauseFile(c)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	p := new(SignPause)
	if err == nil {
		err = json.Unmarshal(data, p)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// EndSignPause removes the file of a home's SignPause, and syncs the removal to the disk.
func EndSignPause(c *config.Config) error {
	path := SignPauseFile(c)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return SyncFolder(path)
}

// beginSignPause writes a SignPause for a home, with the current time.
func beginSignPause(c *config.Config) error {
	data, err := json.Marshal(SignPause{time.Now().UTC()})
	if err != nil {
		return err
	}
	return replaceSecret(SignPauseFile(c), data)
}
