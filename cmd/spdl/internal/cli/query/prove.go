package query

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"
)

// Path returns the query path that arguments ask for.
type Path func(context.Context, *client.Client, []string) (string, error)

// Prove asks with proof, and computes the application hash that the answer leads
// to.
func Prove(ctx context.Context, c *client.Client, path Path, args []string) (asked string, p client.Proven, root [32]byte, err error) {
	if asked, err = path(ctx, c, args); err != nil {
		return asked, p, root, err
	}
	if p, err = c.Prove(ctx, asked); err != nil {
		return asked, p, root, err
	}
	root, err = p.Root()
	return asked, p, root, err
}

// fixed returns the path of a question without arguments.
func fixed(path string) Path {
	return func(context.Context, *client.Client, []string) (string, error) { return path, nil }
}

// ofRound returns the path of something that is kept of each round.
func ofRound(name string) Path {
	return func(ctx context.Context, c *client.Client, args []string) (string, error) {
		epoch, t, err := RoundArgument(ctx, c, args)
		return fmt.Sprintf("%s/%d/%d", name, epoch, t), err
	}
}

// ofModel returns the path of the model as it stands, or of the one after a round.
func ofModel(ctx context.Context, c *client.Client, args []string) (string, error) {
	if len(args) == 0 {
		return "model", nil
	}
	return ofRound("model")(ctx, c, args)
}

type provableOptions struct {
	command.Node `mapstructure:",squash"`
	Prove        bool `mapstructure:"prove"`
}

// provable answers a question, with --prove by what the state holds.
func (q question) provable(r *command.Run, o *provableOptions, args []string) error {
	if !o.Prove {
		return q.answer(r, o.Node, args)
	}
	c, err := r.Client(o.Node)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context, command.QueryTimeout)
	defer cancel()
	_, p, root, err := Prove(ctx, c, q.path, args)
	if err != nil {
		return err
	}
	return r.Show(struct {
		client.Proven
		AppHash string `json:"app_hash"` // that it leads to
	}{p, hex.EncodeToString(root[:])}, nil)
}
