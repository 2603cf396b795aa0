package abci

import (
	"encoding/json"
	"sync"

	"github.com/spdl/spdl/app"
)

// shared holds the paths whose answers grow with the number of participants and depend on the
// committed state alone: each answer is built once per state.
var shared = map[string]bool{"participants": true, "privacy": true, "reputation": true, "membership": true}

// answers caches the JSON of the shared paths for the last queried state.
type answers struct {
	mu   sync.Mutex
	of   *app.State
	json map[string][]byte
}

// in returns the JSON of the answer to a path without an argument. Concurrent callers wait, so that
// it is built once.
func (a *answers) in(s *app.State, path string, answer func() (any, error)) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of != s {
		a.of, a.json = s, map[string][]byte{}
	}
	if made, ok := a.json[path]; ok {
		return made, nil
	}
	body, err := answer()
	if err != nil {
		return nil, err
	}
	made, err := json.Marshal(body)
	if err == nil {
		a.json[path] = made
	}
	return made, err
}
