package explorer

import (
	"context"
	"fmt"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// A condition says how the chain and the training stand, whatever single participants do.
type condition struct {
	Standstill string // why no block comes, "" if blocks come
	Learning   string // how good the newest measured model is, "" if none was measured
	Poor       bool   // the model is hardly better than guessing, or has become worse
}

// condition returns the condition of the chain and of a training with the given points.
func (s *Server) condition(ctx context.Context, status query.Status, classes uint32, points []chainview.Point) (c condition) {
	c.Learning, c.Poor = learning(status.Done, classes, points)
	if s.tail.waits() {
		c.Standstill = s.standstill(ctx)
	}
	return c
}

// standstill says which validators do not vote.
func (s *Server) standstill(ctx context.Context) string {
	people, err := s.source.participants(ctx)
	if err == nil {
		var votes client.Votes
		if votes, err = client.ReadVotes(ctx, s.source.blocks, people); err == nil {
			return votes.Standstill() + "."
		}
	}
	return "The chain waits, and this node does not say which validators vote."
}

// A model is hardly better than guessing below the share hardly of the way from guessing to no error. It has become
// worse if the best accuracy of the training exceeds its own by more than worse.
const hardly, worse = 0.25, 0.05

// Guessing returns the accuracy of guessing among a number of classes, and whether a model with an accuracy is hardly
// better. If the number is unknown, 0, it is not.
func Guessing(accuracy float64, classes uint32) (guess float64, poor bool) {
	if classes < 2 {
		return 0, false
	}
	guess = 1 / float64(classes)
	return guess, accuracy < guess+hardly*(1-guess)
}

// learning says how good the newest measured model is, and whether it is poor.
func learning(done bool, classes uint32, points []chainview.Point) (text string, poor bool) {
	var first, best, last *chainview.Point
	for i := range points {
		p := &points[i]
		if p.Accuracy == nil {
			continue
		}
		if first == nil {
			first = p
		}
		if best == nil || *p.Accuracy > *best.Accuracy {
			best = p
		}
		last = p
	}
	if last == nil {
		return "", false
	}
	right := fmt.Sprintf("%.1f %% of the test rows are right after round %d", 100**last.Accuracy, last.Round)
	guess, poor := Guessing(*last.Accuracy, classes)
	switch {
	case poor && done:
		return fmt.Sprintf("The model has hardly learned: %s, and guessing gives %.1f %%.", right, 100*guess), true
	case poor:
		return fmt.Sprintf("Learning has hardly begun: %s, and guessing gives %.1f %%.", right, 100*guess), true
	case *best.Accuracy-*last.Accuracy > worse:
		return fmt.Sprintf("The model has become worse: %s, %.1f %% after round %d.", right, 100**best.Accuracy,
			best.Round), true
	case last == first:
		return fmt.Sprintf("%s.", right), false
	case *last.Accuracy > *first.Accuracy:
		return fmt.Sprintf("The model learns: %s, %.1f %% after round %d.", right, 100**first.Accuracy, first.Round), false
	}
	return fmt.Sprintf("The model is as good as at first: %s.", right), false
}
