package trainer

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
)

// Predicted is what a trainer says of its rows to train or to test on, in its order.
type Predicted struct {
	Rows    int       `json:"rows"`
	Classes int       `json:"classes"`
	Labels  []uint8   `json:"-"` // of each row
	Chance  []float64 `json:"-"` // of each row the probability of each class
}

// maxClasses is the max number of classes, and farSum the max distance from 1 of the sum of a row's float32.
const maxClasses, farSum = 256, 1e-3

// Predict returns the probabilities that the model at x gives to the rows to test on, or to those to train on. It fails
// with ErrUnmeasured if the trainer gives none.
func (t *Trainer) Predict(ctx context.Context, x []float64, trained bool) (p Predicted, err error) {
	side := map[bool][]byte{false: {0, 0, 0, 0}, true: {1, 0, 0, 0}}[trained]
	err = t.withChild(ctx, func(ctx context.Context, k *child) error {
		if !t.answer.Predicts {
			return nil
		}
		return k.ask(ctx, framePredict, appendFloats(side, x), func(r *reply) (err error) {
			p, err = t.readPredicted(r)
			return err
		})
	})
	if err == nil && p.Rows == 0 {
		err = ErrUnmeasured
	}
	return p, err
}

func (t *Trainer) readPredicted(r *reply) (p Predicted, err error) {
	said, err := r.frame(framePredict, maxText)
	if err != nil {
		return p, err
	}
	if err = json.Unmarshal(said, &p); err != nil || p.Rows < 1 || p.Rows > math.MaxInt32 || p.Classes < 2 ||
		p.Classes > maxClasses {
		return p, fmt.Errorf("its answer to PREDICT is %s, want rows from 1 and classes from 2 to %d",
			quote(fmt.Sprintf("%.80s", said)), maxClasses)
	}
	wrong := -1
	err = t.eachRow(r, 1+p.Classes, p.Rows, func(row []float64, _ float64) {
		sum, isChance := 0., row[0] == math.Trunc(row[0]) && row[0] >= 0 && row[0] < float64(p.Classes)
		for _, chance := range row[1:] {
			sum, isChance = sum+chance, isChance && chance >= 0
		}
		if !isChance || math.Abs(sum-1) > farSum {
			wrong = len(p.Labels)
		}
		p.Labels, p.Chance = append(p.Labels, uint8(row[0])), append(p.Chance, row[1:]...)
	})
	if err == nil && wrong >= 0 {
		err = fmt.Errorf("row %d to predict is no label from 0 to %d and the probabilities of the classes, whose sum is 1",
			wrong, p.Classes-1)
	}
	return p, err
}

// Row returns the probability of each class of a row.
func (p Predicted) Row(i int) []float64 { return p.Chance[i*p.Classes : (i+1)*p.Classes] }
