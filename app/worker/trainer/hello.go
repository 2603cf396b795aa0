package trainer

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/spdl/spdl/app/params"
)

// Share names the participant's part of a common data set. A participant with data of its own has
// part 0 of 1.
type Share struct {
	Data      string  `json:"data"` // worker.data
	Part      int     `json:"part"`
	Parts     int     `json:"parts"`
	Partition string  `json:"partition"`
	Alpha     float64 `json:"alpha"`
	Seed      uint64  `json:"seed"`
}

// hello is the body of the HELLO frame, the first one that a trainer gets.
type hello struct {
	Protocol  int             `json:"protocol"`
	Dimension int             `json:"dimension"`
	Clip      float64         `json:"clip"`     // 0: nothing is clipped
	Clipping  string          `json:"clipping"` // "rows" or "sum"
	Tensors   []params.Tensor `json:"tensors"`
	Config    string          `json:"config"`
	Share     Share           `json:"share"`
}

// answer is the body of the trainer's answer to HELLO.
type answer struct {
	Protocol  int  `json:"protocol"`
	Examples  int  `json:"examples"`
	Evaluates bool `json:"evaluates"`
}

func decodeAnswer(body []byte) (a answer, err error) {
	if err := json.Unmarshal(body, &a); err != nil {
		return a, fmt.Errorf("its answer to HELLO is no JSON: %w", err)
	}
	switch {
	case a.Protocol != protocol:
		return a, fmt.Errorf("it speaks protocol %d, this program %d", a.Protocol, protocol)
	case a.Examples < 1 || a.Examples > math.MaxInt32:
		return a, fmt.Errorf("it has %d examples, want 1 to %d", a.Examples, math.MaxInt32)
	}
	return a, nil
}

// Eval is a trainer's measurement of a model on its test set.
type Eval struct {
	Loss     float64 `json:"loss"`
	Accuracy float64 `json:"accuracy"`
	Examples int     `json:"examples"` // of the test set
}

func decodeEval(body []byte) (e Eval, err error) {
	if err := json.Unmarshal(body, &e); err != nil {
		return e, fmt.Errorf("its answer to EVALUATE is no JSON: %w", err)
	}
	if !(e.Accuracy >= 0 && e.Accuracy <= 1) || e.Examples < 1 || e.Examples > math.MaxInt32 {
		return e, fmt.Errorf("it measured accuracy %g on %d examples, want 0 to 1 on 1 to %d", e.Accuracy, e.Examples,
			math.MaxInt32)
	}
	return e, nil
}
