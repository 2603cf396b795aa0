package sim_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/testnet/sim"
)

// TestScripts plays the scenarios of testdata: commands, and below ---- what
// they print. `go test ./testnet/sim -run Scripts -rewrite` writes the output
// again; read the difference before you keep it.
//
//	init nodes=4 [rounds=] [term=] [f=] [penalty=] [budget=] [commit-reveal]   a chain
//	fault node=2 [silent|mute|wrong|...]             what is wrong with a node from now on; nothing heals it
//	join node [worker], approve by= [of=], leave, rotate, rekey, restore, remove, epoch
//	upgrade by= name= height= version=, replace node= version=   versions are relative to the
//	                                                           program's; height and version 0 cancel
//	run heights=3                                    one line a height
//	state                                            where the chain stands
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		p := &player{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := p.play(t, d)
			if err != nil {
				return out + "error: " + err.Error() + "\n"
			}
			return out
		})
	})
}

// player plays one script.
type player struct {
	net  *sim.Net
	last []byte // the proposal that was made last
}

func (p *player) play(t *testing.T, d *datadriven.TestData) (string, error) {
	arg := func(name string, otherwise int) int {
		if d.HasArg(name) {
			d.ScanArgs(t, name, &otherwise)
		}
		return otherwise
	}
	if d.Cmd == "init" {
		n := arg("nodes", 4)
		var err error
		p.net, err = sim.New(sim.Config{Nodes: n, Seed: uint64(arg("seed", 1)),
			Params: apptest.Params(n, func(q *params.Params) {
				q.Training.Rounds = uint64(arg("rounds", 1000))
				q.Election.CommitReveal = d.HasArg("commit-reveal")
				q.Election.Term = uint64(arg("term", 1))
				q.Reputation.Penalty = int64(arg("penalty", 100_000))
				q.Rule.Byzantine = uint32(arg("f", (n-1)/3))
				preset.SetProposers(&q.Election, int(q.Rule.Byzantine))
				if pays := arg("budget", 0); pays > 0 {
					q.Privacy.Epsilon, q.Privacy.Delta = 1, 1e-6
					for range params.LedgerColumns {
						q.Privacy.Cost = append(q.Privacy.Cost, 1000)
						q.Privacy.Budget = append(q.Privacy.Budget, uint64(1000*pays))
					}
				}
			})})
		if err != nil {
			return "", err
		}
		return p.net.Summary(), nil
	}
	node := func(name string) *sim.Node { return p.net.Nodes[arg(name, 0)] }
	proposed := func(t *tx.Tx, err error) (string, error) {
		if err == nil {
			id := t.ID()
			p.last = id[:]
		}
		return "", err
	}
	switch d.Cmd {
	case "fault":
		node("node").Faults = faults(d)
		return "", nil
	case "run":
		return p.run(arg("heights", 1))
	case "state":
		return p.net.Summary(), nil
	case "add":
		n, err := p.net.AddNode()
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("node %d at height %d\n", n.Index, p.net.Height()), nil
	case "join":
		return proposed(node("node").Join(d.HasArg("worker")))
	case "approve", "withdraw":
		vote := (*sim.Node).Approve
		if d.Cmd == "withdraw" {
			vote = (*sim.Node).Withdraw
		}
		var voters []int
		for _, a := range d.CmdArgs {
			for _, v := range a.Vals {
				i, err := strconv.Atoi(v)
				if err != nil {
					return "", err
				}
				voters = append(voters, i)
			}
		}
		for _, i := range voters {
			if _, err := vote(p.net.Nodes[i], p.last); err != nil {
				return "", err
			}
		}
		return "", nil
	case "leave":
		return proposed(node("node").Leave())
	case "rotate":
		return proposed(node("node").Rotate(arg("generation", 1)))
	case "rekey":
		node("node").Rekey(arg("generation", 1))
		return "", nil
	case "restore":
		return proposed(node("by").Restore(uint32(arg("subject", 0))))
	case "remove":
		return proposed(node("by").Remove(uint32(arg("subject", 0))))
	case "upgrade":
		var version uint64
		if v := arg("version", 0); v > 0 {
			version = app.Version + uint64(v)
		}
		name := "upgrade"
		d.MaybeScanArgs(t, "name", &name)
		return proposed(node("by").Upgrade(name, uint64(arg("height", 0)), version))
	case "replace":
		return "", node("node").Replace(app.Version + uint64(arg("version", 0)))
	case "epoch":
		q := p.net.State().Params
		q.Training.Rounds = uint64(arg("rounds", 5))
		if d.HasArg("mlp") {
			q.Model = params.Model{Kind: params.ModelMLP, Inputs: 3, Hidden: 4, Classes: 2, Pool: 1, PixelScale: 255}
		}
		return proposed(node("by").StartEpoch(q, d.HasArg("keep"), d.HasArg("now")))
	}
	return "", fmt.Errorf("unknown command %q", d.Cmd)
}

func (p *player) run(heights int) (string, error) {
	var out strings.Builder
	for range heights {
		b, err := p.net.Step()
		if err != nil {
			return out.String(), err
		}
		if b == nil {
			fmt.Fprintf(&out, "height %d: no proposal has two thirds\n", p.net.Height()+1)
			continue
		}
		out.WriteString(p.net.Describe(b))
	}
	return out.String(), nil
}

func faults(d *datadriven.TestData) sim.Faults {
	has := func(name string) bool {
		return slices.ContainsFunc(d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == name })
	}
	return sim.Faults{
		Down: has("down"), Partitioned: has("partitioned"), Silent: has("silent"), MuteLeader: has("mute"),
		WrongAggregate: has("wrong-aggregate"), TwoAggregates: has("two-aggregates"), TwoGradients: has("two-gradients"),
		Opposed: has("opposed"), Withhold: has("withhold"), LateCommit: has("late-commit"), TwoCommits: has("two-commits"),
		EmptyBlocks: has("empty-blocks"), BadBlocks: has("bad-blocks"), Accomplice: has("accomplice"),
	}
}
