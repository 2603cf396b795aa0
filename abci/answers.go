package abci

import (
	"encoding/json"
	"sync"

	"github.com/spdl/spdl/app"
)

// shared are the paths whose answers are long where there are many participants, and follow from
// the committed state alone: each is made once a state.
var shared = map[string]bool{"participants": true, "privacy": true, "reputation": true, "membership": true}

// answers are those of the last state that was asked about.
type answers struct {
	mu   sync.Mutex
	of   *app.State
	json map[string][]byte
}

// in returns the JSON of the answer to a path without an argument. Who asks for the same at the
// same time waits for it.
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
