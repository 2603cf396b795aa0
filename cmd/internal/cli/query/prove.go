package query

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/spdl/spdl/abci/client"
)

// Path returns the query path for the arguments of a command.
type Path func(context.Context, *client.Client, []string) (string, error)

// Prove queries a value with its proof, and computes the application hash to which the proof leads.
func Prove(ctx context.Context, c *client.Client, path Path, args []string) (asked string, p client.ProvenAnswer,
	root [32]byte, err error) {
	if asked, err = path(ctx, c, args); err != nil {
		return asked, p, root, err
	}
	if p, err = c.Prove(ctx, asked); err != nil {
		return asked, p, root, err
	}
	root, err = p.Root()
	return asked, p, root, err
}

// fixed returns the Path of a question without arguments.
func fixed(path string) Path {
	return func(context.Context, *client.Client, []string) (string, error) { return path, nil }
}

// ofRound returns the Path of a value that the state holds for each round.
func ofRound(name string) Path {
	return func(ctx context.Context, c *client.Client, args []string) (string, error) {
		epoch, t, err := RoundArgument(ctx, c, args)
		return fmt.Sprintf("%s/%d/%d", name, epoch, t), err
	}
}

// ofModel is the Path of the current model, or of the model after a round.
func ofModel(ctx context.Context, c *client.Client, args []string) (string, error) {
	if len(args) == 0 {
		return "model", nil
	}
	return ofRound("model")(ctx, c, args)
}

// prove answers a question by the value in the state and its proof.
func (q question) prove(ctx context.Context, c *client.Client, args []string) (any, func(io.Writer), error) {
	_, p, root, err := Prove(ctx, c, q.path, args)
	return struct {
		client.ProvenAnswer
		AppHash string `json:"app_hash"` // the application hash to which the proof leads
	}{p, hex.EncodeToString(root[:])}, nil, err
}
