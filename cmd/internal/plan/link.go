package plan

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// These are the costs of a round besides sending the bytes of its transactions. They are fitted to
// five networks that `make bench-net` ran, each in one process on two cores. TestRoundsAsMeasured
// compares the formula with these measurements.
const (
	// copiesOfGradient is the number of times that a node receives a gradient when nodes announce
	// transactions before they send them (0.99 to 1.09 measured; 1.10 at N=20, ADR 18).
	copiesOfGradient = 1.1
	// copiesOfBlock times the number of peers is the number of times that a node receives a block if no link is slow.
	// When blocks were sent in parts, 0.20 to 0.37 was measured; since blocks are sent by reference (ADR 18),
	// copiesOfBlock is an upper bound. Over a slow link the formula assumes that each peer sends the whole block.
	copiesOfBlock = 0.25
	// byteWork is the CPU time for each byte of a round's transactions: encryption, hashes, the pool, verification, disk.
	byteWork = 30e-9 // seconds
	// modelWork is the CPU time for each parameter of the model: Delta, the update, the model's hash, disk.
	modelWork = 105e-9 // seconds
	// roundWork and memberWork are the rest of a node's CPU time for a round: a fixed part, and a
	// part for each participant's signatures, VRF proofs and votes.
	roundWork, memberWork = 4.3e-3, 1.1e-3 // seconds
	// workerWork is a node's CPU time for each participant without a node: signatures, VRF proof, commitment, rule, and
	// the transfer of its transactions. It was measured with 1,000 such participants.
	workerWork = 0.75e-3 // seconds
	// stepWork is the CPU time of a training step for each example and parameter of a built-in model.
	stepWork = 0.55e-9 // seconds
	// coreShare is the assumed share of a node's cores that a round uses. It is below 1 because the
	// stages of a round wait for each other; 0.43 to 1 was measured.
	coreShare = 0.75
)

// These values follow from CometBFT and from node.DefaultConfig, not from a measurement.
const (
	partPause   = 5e-3  // peer_gossip_sleep_duration in seconds; a round has four such pauses
	voteBytes   = 300   // the bytes of a vote with its message
	usualPeers  = 10    // the max number of peers that a node connects to (max_num_outbound_peers)
	announceGap = 30e-3 // the seconds until a node announces a transaction that it received
)

// Link describes a link between two nodes, and the computing power of a node. All links and nodes are equal.
type Link struct {
	// Rate is in bits a second in each direction. With rate 0 the plan has no Round.
	Rate    float64
	Latency time.Duration // the latency in one direction
	Step    time.Duration // the time of a training step; 0 stands for an estimate from the size of a built-in model
	Cores   int           // the number of a node's cores, at least 1
	Peers   int           // the number of a node's peers; 0 means all other nodes, up to 10
	Nodes   int           // the number of nodes; 0 means one for each participant
}

// Config holds the values that genesis and the nodes' configuration will have. If Propose is zero,
// the plan does not compare a round with the timeouts.
type Config struct {
	BlockBytes int64         `json:"block_max_bytes"`
	MostBytes  int64         `json:"block_max_bytes_bound"` // CometBFT's upper bound on block.max_bytes
	TxBytes    int64         `json:"mempool_max_tx_bytes"`
	Wait       float64       `json:"proposal_wait_seconds"`
	Propose    float64       `json:"timeout_propose_seconds"`
	Vote       time.Duration `json:"-"` // consensus.timeout_prevote and timeout_precommit
}

// Round is the time of a round, part by part, and the bytes that a node receives in a round to
// which all participants contribute. All times are in seconds.
type Round struct {
	Step      float64 `json:"step_seconds"`      // the time of a participant's training step
	Gradients float64 `json:"gradients_seconds"` // the time until all nodes have received all gradients
	Block     float64 `json:"block_seconds"`     // the time from the proposal until all nodes have received the block
	Votes     float64 `json:"votes_seconds"`     // the time of the prevotes and precommits
	Node      float64 `json:"node_seconds"`      // the time of a node's computation for the whole round
	Seconds   float64 `json:"seconds"`           // the sum of the five parts
	BoundBy   string  `json:"bound_by"`          // the name of the longest part

	NodeBytes int64 `json:"node_bytes"`     // the bytes that a node receives in a round; on average it sends as many
	DayBytes  int64 `json:"node_day_bytes"` // the bytes that a node receives in a day if every round takes Seconds
}

// ParseRate parses a rate such as "100Mbit/s" and returns bits a second.
func ParseRate(text string) (float64, error) {
	for unit, bits := range map[string]float64{"kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			rate, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err == nil && rate > 0 && rate*bits <= 1e15 {
				return rate * bits, nil
			}
		}
	}
	return 0, fmt.Errorf("%w: link %q, want a number above 0 with kbit/s, Mbit/s or Gbit/s, as 100Mbit/s", ErrInput, text)
}

// check returns the first error in a link.
func (l Link) check() error {
	return cmp.Or(
		check(l.Rate >= 0 && !math.IsInf(l.Rate, 1), "link of %v bit/s, want a number above 0", l.Rate),
		check(l.Latency >= 0 && l.Latency <= time.Minute, "latency %v, want 0s to 1m0s", l.Latency),
		check(l.Step >= 0, "training step of %v, want at least 0s", l.Step),
		check(l.Rate == 0 || l.Cores >= 1 && l.Cores <= 4096, "%d cores, want 1 to 4096", l.Cores),
		check(l.Peers >= 0, "%d peers, want at least 0", l.Peers),
		check(l.Nodes >= 0, "%d nodes, want at least 0", l.Nodes),
	)
}

// receivedBytes returns the bytes that a node receives in a round if no link is slow.
func (in Input) receivedBytes(t Traffic) float64 {
	n, nodes, peers := float64(in.Participants), float64(in.Link.Nodes), float64(in.Link.Peers)
	return copiesOfGradient*(n-1)*float64(t.Gradient) + copiesOfBlock*peers*float64(t.Round) + 2*nodes*voteBytes*peers
}

// work returns the CPU seconds that a node spends on a round of a model with d parameters, without the training step.
func (in Input) work(d int, t Traffic) float64 {
	members := memberWork*float64(in.Link.Nodes) + workerWork*float64(in.Participants-in.Link.Nodes)
	return roundWork + members + byteWork*float64(t.Round) + modelWork*float64(d)
}

// round returns the time and the bytes of one round, or nil if the plan has no link.
func (in Input) round(d int, t Traffic) *Round {
	if in.Link.Rate == 0 {
		return nil
	}
	n, nodes, peers := float64(in.Participants), float64(in.Link.Nodes), float64(in.Link.Peers)
	rate, latency := in.Link.Rate/8, in.Link.Latency.Seconds()
	gradient, block, received := float64(t.Gradient), float64(t.Round), in.receivedBytes(t)
	r := Round{Step: in.Link.Step.Seconds(), Node: in.work(d, t) / (coreShare * float64(in.Link.Cores))}
	if r.Step == 0 && in.External == 0 {
		r.Step = stepWork * float64(in.Batch) * float64(d)
	}
	if n > 1 {
		hops := max(1, math.Ceil(math.Log(nodes)/math.Log(max(1, peers)+1)-1e-9))
		r.Gradients = max(peers, copiesOfGradient*(n-1))*gradient/rate + latency + (hops-1)*(announceGap+3*latency)
		r.Block = peers*block/rate + hops*latency + 2*partPause
		r.Votes = 2*nodes*voteBytes*peers/rate + 2*hops*latency + 2*partPause
	}
	longest := 0.0
	for _, part := range []struct {
		name    string
		seconds float64
	}{{"training step", r.Step}, {"way of the gradients", r.Gradients}, {"way of the block", r.Block}, {"votes", r.Votes},
		{"node's CPU", r.Node}} {
		r.Seconds += part.seconds
		if part.seconds > longest {
			longest, r.BoundBy = part.seconds, part.name
		}
	}
	if peers*block/rate > r.Node {
		received += (1 - copiesOfBlock) * peers * block
	}
	r.NodeBytes = int64(received)
	r.DayBytes = int64(received * (24 * time.Hour).Seconds() / r.Seconds)
	return &r
}

// configWarnings returns warnings about a round that does not fit the configuration.
func (r *Round) configWarnings(in Input) (out []string) {
	c := in.Config
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if c.BlockBytes > c.MostBytes {
		add("genesis will be rejected: a round of %d participants takes blocks of %d bytes, CometBFT's bound is %d: fewer "+
			"participants, fewer parameters, or one byte a coordinate",
			in.Participants, c.BlockBytes, c.MostBytes)
	}
	if r == nil || c.Propose == 0 {
		return out
	}
	if in.External > 0 && in.Link.Step == 0 {
		add("the trainer's step is not in the time of a round: measure it with spdl trainer check and give it as --step")
	}
	gather := r.Step + r.Gradients + r.Node/2
	propose := gather + r.Block + r.Node/2
	if gather > c.Wait {
		add("gradients take %v to come, proposal.wait is %v: rounds take empty blocks and close without the slow; set "+
			"proposal.wait to %v on every node, and consensus.timeout_propose to %v",
			roundDuration(gather), roundDuration(c.Wait), roundDuration(1.5*gather), roundDuration(1.5*propose))
	} else if propose > c.Propose {
		add("gradients and block take %v, consensus.timeout_propose is %v: proposals are given up; set it to %v "+
			"on every node",
			roundDuration(propose), roundDuration(c.Propose), roundDuration(1.5*propose))
	}
	if trip := 2 * in.Link.Latency; trip > c.Vote {
		add("a round trip is %v, consensus.timeout_prevote and timeout_precommit are %v: set both above it", trip, c.Vote)
	}
	return out
}

// roundDuration returns a duration of s seconds, rounded to three digits.
func roundDuration(s float64) time.Duration {
	third := math.Pow(10, math.Floor(math.Log10(s))-2) // 0 for 0, to which nothing is rounded
	return time.Duration(s * float64(time.Second)).Round(time.Duration(third * float64(time.Second)))
}

// envelopeBytes bounds a gradient without its vector (signature, VRF proof and header), and an
// aggregate without its entries. includedBytes bounds an aggregate's entry for one gradient.
// params.Params.RoundBytes uses the same two values. A plan assumes tolerance 0.
const (
	envelopeBytes = 512
	includedBytes = 48
)

// Traffic holds the bytes of transactions that every node stores, and the time of the rounds.
type Traffic struct {
	Gradient int64   `json:"gradient_bytes"`        // the bytes of one gradient's transaction
	Round    int64   `json:"round_bytes"`           // the bytes of N gradients and the aggregate
	Day      int64   `json:"day_bytes"`             // the bytes of one day, if rounds follow each other without a pause
	Total    int64   `json:"total_bytes"`           // the bytes of all rounds
	Seconds  float64 `json:"round_seconds"`         // the time of one round
	Duration float64 `json:"training_time_seconds"` // the time of all rounds
}

func (in Input) traffic(d int) Traffic {
	gradient := int64(d)*int64(in.Width) + envelopeBytes
	round := int64(in.Participants)*(gradient+includedBytes) + envelopeBytes
	return Traffic{Gradient: gradient, Round: round, Total: round * int64(in.Rounds)}
}

// inRounds returns t with the fields that depend on time: each round takes the given seconds, and
// rounds follow each other without a pause.
func (t Traffic) inRounds(seconds float64, rounds int) Traffic {
	t.Seconds, t.Duration = seconds, seconds*float64(rounds)
	t.Day = int64(float64(t.Round) * (24 * time.Hour).Seconds() / seconds)
	return t
}
