package testnet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/internal/wait"
)

// defaultHeights is the number of heights between an upgrade's proposal and the upgrade, if the
// manifest does not set it.
const defaultHeights = 60

// voteWait bounds how long a member tries to approve a proposal that its node may not have yet.
const voteWait = time.Minute

// upgrade upgrades the chain as its operators would. The members propose and approve the upgrade,
// all nodes stop by themselves, and each node is started again with the new release. The perturbed
// node starts later than the other nodes, and may try a wrong release first.
func (p *Processes) upgrade(ctx context.Context, x Perturbation) error {
	version, err := releaseOf(ctx, x.Binary)
	if err != nil {
		return err
	}
	for i := range p.Net.Nodes {
		p.Expect(i)
	}
	if err := p.plan(ctx, x, version); err != nil {
		return err
	}
	for i := range p.Net.Nodes {
		if err := p.awaitUpgrade(ctx, i); err != nil {
			return err
		}
		p.Replace(i, x.Binary)
	}
	for i := range p.Net.Nodes {
		if i == x.Node {
			continue
		}
		if err := p.Start(i); err != nil {
			return err
		}
	}
	if err := wait.For(ctx, x.For); err != nil {
		return err
	}
	if x.Wrong != "" {
		p.Replace(x.Node, x.Wrong)
		if err := errors.Join(p.start(x.Node, true), p.awaitUpgrade(ctx, x.Node)); err != nil {
			return fmt.Errorf("the wrong release: %w", err)
		}
		p.Replace(x.Node, x.Binary)
	}
	return p.Start(x.Node)
}

// releaseOf returns the version of the state machine that a program executes.
func releaseOf(ctx context.Context, binary string) (uint64, error) {
	var v struct {
		App uint64 `json:"app_version"`
	}
	err := runJSON(ctx, &v, binary, "version")
	return v.App, err
}

// plan proposes an upgrade as participant 0 and has participants approve it until more than two thirds are in favour.
func (p *Processes) plan(ctx context.Context, x Perturbation, version uint64) error {
	c, err := client.New(p.Net.Nodes[0].RPC)
	if err != nil {
		return err
	}
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	heights := cmp.Or(x.Heights, defaultHeights)
	var proposal struct {
		ID string `json:"proposal"`
	}
	if err := runJSON(ctx, &proposal, p.binaryOf(0), p.as(0, "tx", "upgrade", fmt.Sprintf("round %d", x.Round),
		"--height", strconv.FormatUint(s.Height+heights, 10), "--app-version",
		strconv.FormatUint(version, 10))...); err != nil {
		return err
	}
	for i := 1; i < 2*p.Net.Manifest.Validators/3+1; i++ {
		vote, cancel := context.WithTimeout(ctx, voteWait)
		for err = errors.New("not tried"); err != nil && vote.Err() == nil; _ = wait.For(vote, 100*time.Millisecond) {
			err = runJSON(vote, nil, p.binaryOf(i), p.as(i, "tx", "approve", proposal.ID)...)
		}
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// as returns the arguments of a command for node i's participant.
func (p *Processes) as(i int, args ...string) []string {
	return append(args, "--home", p.Net.Nodes[i].Home, "--node", p.Net.Nodes[i].RPC)
}

// awaitUpgrade waits until node i has ended by itself with ExitVersion: the next height needs another version.
func (p *Processes) awaitUpgrade(ctx context.Context, i int) error {
	code, err := p.Await(ctx, i)
	if err == nil && code != node.ExitVersion {
		err = fmt.Errorf("node %d ended with exit code %d, want %d; the end of its log:\n%s", i, code, node.ExitVersion,
			tail(p.Net.Nodes[i].LogFile()))
	}
	return err
}

// runJSON runs a program to its end and decodes the JSON that it prints, unless into is nil.
func runJSON(ctx context.Context, into any, binary string, args ...string) error {
	out, err := exec.CommandContext(ctx, binary, append(args, "-o", "json")...).Output()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return fmt.Errorf("%s %v: %w: %s", binary, args, err, failed.Stderr)
	case err != nil:
		return err
	case into == nil:
		return nil
	}
	return json.Unmarshal(out, into)
}
