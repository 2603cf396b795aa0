package virtual

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/testnet/link"
)

// These are the actions of an Event. A localnet's perturbations also have Disconnect, Slow, Kill
// and Restart.
const (
	Disconnect = "disconnect" // the links of Node are cut, and later restored
	Slow       = "slow"       // the links of Node follow Rule for a time
	Break      = "break"      // the connections of Node end, and the nodes connect again
	Restart    = "restart"    // Node stops, then starts again
	Kill       = "kill"       // like Restart, but data that Node has not written are lost
	Pause      = "pause"      // Node and its links stop for a time, as after SIGSTOP
	Clock      = "clock"      // the clock of Node is ahead by By for a time
	Disk       = "disk"       // each sync of Node's write-ahead log takes Rule.Delay, or fails if Rule.Delay is 0
	Adversary  = "adversary"  // hostile peers with the behaviour Name connect to all nodes; Node is the number of peers
	Attack     = "attack"     // the participant of Node misbehaves from the start; Name is an attack of package attack
	Twin       = "twin"       // from the start a second node, with the index Nodes, has the validator key of Node
	Expect     = "expect"     // the blocks since the last Progress must be within Bounds
	Progress   = "progress"   // the net must close a round; the times of later events count from then on
)

// In and Out are values of Event.Way: the directions to Node and from Node.
const In, Out = "in", "out"

// Event is one fault of a history, or a wait for progress.
type Event struct {
	At     time.Duration // since the last Progress
	Action string
	Node   int
	Peers  []int         // the nodes at the other ends of the links; empty means all
	Way    string        // In or Out; "" means both
	For    time.Duration // how long the event lasts
	Rule   link.Rule     // the rule of Slow; Disk uses Rule.Delay
	By     time.Duration // the time by which Clock sets the clock ahead
	Name   string        // the behaviour of Adversary or Attack
	Bounds Bounds        // the bounds of Expect
}

// Bounds are limits that a net without other faults must keep while an adversary attacks. 0 means
// no limit.
type Bounds struct {
	Rounds   int     // the min number of closed rounds
	Missing  float64 // the max share of rounds without a gradient of one honest participant
	Views    float64 // the max number of views per round that passed without an aggregate
	Offences int     // the min number of offences on the chain since its first block
}

// History lists what happens to a net. The delays between the nodes are also drawn from Seed.
type History struct {
	Seed   uint64
	Nodes  int
	Plain  bool // whether participants send gradients without commitments
	Events []Event
}

// plain is the end of the first line of a history without commitments.
const plain = " commit_reveal=false"

// field is a field of an event in its written form, NAME=VALUE.
type field struct {
	name string
	get  func(e *Event) string // "" leaves the field out
	set  func(e *Event, text string) error
}

var fields = []field{
	{"node", func(e *Event) string {
		if e.Action == Progress || e.Action == Expect {
			return ""
		}
		return strconv.Itoa(e.Node)
	}, func(e *Event, s string) (err error) { e.Node, err = strconv.Atoi(s); return err }},
	{"peers", func(e *Event) string {
		return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(e.Peers)), ","), "[]")
	},
		func(e *Event, s string) error {
			for x := range strings.SplitSeq(s, ",") {
				k, err := strconv.Atoi(x)
				if err != nil {
					return err
				}
				e.Peers = append(e.Peers, k)
			}
			return nil
		}},
	{"way", func(e *Event) string { return e.Way }, func(e *Event, s string) error { e.Way = s; return nil }},
	{"name", func(e *Event) string { return e.Name }, func(e *Event, s string) error { e.Name = s; return nil }},
	duration("for", func(e *Event) *time.Duration { return &e.For }),
	duration("by", func(e *Event) *time.Duration { return &e.By }),
	duration("delay", func(e *Event) *time.Duration { return &e.Rule.Delay }),
	duration("jitter", func(e *Event) *time.Duration { return &e.Rule.Jitter }),
	share("loss", func(e *Event) *float64 { return &e.Rule.Loss }),
	number("rate", func(e *Event) *int { return &e.Rule.Rate }),
	number("rounds", func(e *Event) *int { return &e.Bounds.Rounds }),
	number("offences", func(e *Event) *int { return &e.Bounds.Offences }),
	share("missing", func(e *Event) *float64 { return &e.Bounds.Missing }),
	share("views", func(e *Event) *float64 { return &e.Bounds.Views }),
}

func duration(name string, of func(*Event) *time.Duration) field {
	return field{name, func(e *Event) string {
		if *of(e) == 0 {
			return ""
		}
		return of(e).String()
	}, func(e *Event, s string) (err error) { *of(e), err = time.ParseDuration(s); return err }}
}

func share(name string, of func(*Event) *float64) field {
	return field{name, func(e *Event) string { return nonzero(*of(e)) },
		func(e *Event, s string) (err error) { *of(e), err = strconv.ParseFloat(s, 64); return err }}
}

func number(name string, of func(*Event) *int) field {
	return field{name, func(e *Event) string { return nonzero(float64(*of(e))) },
		func(e *Event, s string) (err error) { *of(e), err = strconv.Atoi(s); return err }}
}

func nonzero(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// String returns the event as Parse reads it: TIME ACTION FIELD=VALUE...
func (e Event) String() string {
	s := e.At.String() + " " + e.Action
	for _, f := range fields {
		if text := f.get(&e); text != "" {
			s += " " + f.name + "=" + text
		}
	}
	return s
}

// String returns the history as Parse reads it, with one event in each line.
func (h History) String() string {
	s := fmt.Sprintf("seed=%d nodes=%d", h.Seed, h.Nodes)
	if h.Plain {
		s += plain
	}
	s += "\n"
	for _, e := range h.Events {
		s += e.String() + "\n"
	}
	return s
}

// Parse reads a history. Lines that begin with # are comments.
func Parse(text string) (h History, err error) {
	first := true
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if first {
			line, h.Plain = strings.CutSuffix(line, plain)
			_, err = fmt.Sscanf(line+"\n", "seed=%d nodes=%d\n", &h.Seed, &h.Nodes)
			first = false
		} else {
			var e Event
			e, err = parseEvent(line)
			h.Events = append(h.Events, e)
		}
		if err != nil {
			return h, fmt.Errorf("line %d, %q: %w", i+1, line, err)
		}
	}
	return h, h.Check()
}

func parseEvent(line string) (e Event, err error) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return e, fmt.Errorf("%d words, want a time and an action", len(words))
	}
	if e.At, err = time.ParseDuration(words[0]); err != nil {
		return e, err
	}
	e.Action = words[1]
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			return e, fmt.Errorf("unknown field %q", name)
		}
		if err := fields[i].set(&e, value); err != nil {
			return e, fmt.Errorf("%s: %w", name, err)
		}
	}
	return e, nil
}

var actions = []string{Disconnect, Slow, Break, Restart, Kill, Pause, Clock, Disk, Adversary, Attack, Twin, Expect,
	Progress}

// Check returns an error if the history cannot be played.
func (h History) Check() error {
	nodes := h.Nodes
	if h.twin() >= 0 {
		nodes++
	}
	for _, e := range h.Events {
		outside := func(i int) bool { return i < 0 || i >= nodes }
		switch {
		case !slices.Contains(actions, e.Action):
			return fmt.Errorf("action %q, want one of %s", e.Action, strings.Join(actions, ", "))
		case e.Action != Adversary && outside(e.Node), slices.ContainsFunc(e.Peers, outside):
			return fmt.Errorf("%v: node %d and peers %v, want 0 to %d", e, e.Node, e.Peers, nodes-1)
		case !slices.Contains([]string{"", In, Out}, e.Way):
			return fmt.Errorf("%v: way %q, want %q, %q or none", e, e.Way, In, Out)
		case e.At < 0 || e.For < 0:
			return fmt.Errorf("%v: at %v for %v, want at least 0", e, e.At, e.For)
		case e.For == 0 && slices.Contains([]string{Pause, Clock, Disk}, e.Action):
			return fmt.Errorf("%v: it has no end, want for=", e)
		}
		if err := e.Rule.Check(); err != nil {
			return fmt.Errorf("%v: %w", e, err)
		}
	}
	return nil
}

// twin returns the node whose validator key a second node has, -1 if there is none.
func (h History) twin() int {
	if i := slices.IndexFunc(h.Events, func(e Event) bool { return e.Action == Twin }); i >= 0 {
		return h.Events[i].Node
	}
	return -1
}

// Random draws a history that lasts at least length. It consists of bursts of faults, each followed
// by Progress. names lists the behaviours for Adversary.
func Random(seed uint64, nodes int, length time.Duration, names []string) History {
	r := rand.New(rand.NewPCG(seed, 0))
	h := History{Seed: seed, Nodes: nodes}
	switch r.IntN(4) {
	case 0:
		h.Events = append(h.Events, Event{Action: Twin, Node: r.IntN(nodes)})
	case 1:
		kinds := []string{"silent", "seldom", "mute-leader", "wrong-aggregate", "equivocate", "sign-flip"}
		for _, i := range r.Perm(nodes)[:(nodes-1)/3] {
			h.Events = append(h.Events, Event{Action: Attack, Node: i, Name: kinds[r.IntN(len(kinds))]})
		}
	}
	h.Events = append(h.Events, Event{Action: Progress})
	for total := time.Duration(0); total < length; {
		var burst []Event
		for range 1 + r.IntN(3) {
			burst = append(burst, fault(r, nodes, names)...)
		}
		slices.SortStableFunc(burst, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
		var last time.Duration
		for _, e := range burst {
			last = max(last, e.At+e.For)
		}
		h.Events = append(h.Events, burst...)
		h.Events = append(h.Events, Event{At: last, Action: Progress})
		total += last + 5*time.Second
	}
	return h
}

// fault draws one fault.
func fault(r *rand.Rand, nodes int, names []string) []Event {
	who := r.Perm(nodes)
	e := Event{At: time.Duration(r.IntN(15_000)) * time.Millisecond, Node: who[0],
		For: time.Duration(500+r.IntN(30_000)) * time.Millisecond}
	switch k := r.IntN(26); {
	case k < 2:
		e.Action = Disconnect
	case k < 4: // one direction, to or from some peers
		e.Action, e.Way, e.Peers = Disconnect, []string{In, Out}[r.IntN(2)], slices.Clone(who[1:2+r.IntN(nodes-1)])
	case k < 6:
		e.Action, e.Peers = Disconnect, slices.Clone(who[1:2+r.IntN(nodes-1)])
	case k < 8:
		return split(e, who, 1+r.IntN(nodes/2))
	case k < 10:
		e.Action, e.For, e.Peers = Break, 0, slices.Clone(who[1:2+r.IntN(nodes-1)])
	case k < 13:
		e.Action = Restart
	case k < 16:
		e.Action = Kill
	case k < 18:
		e.Action = Pause
	case k < 20:
		// CometBFT rejects a block that is more than a minute ahead of the node's clock, also if
		// both clocks are wrong.
		e.Action, e.By = Clock, time.Duration(1+r.IntN(25_000))*time.Millisecond
		if r.IntN(2) == 0 {
			e.By = -e.By
		}
	case k < 22:
		e.Action = Disk
		if r.IntN(2) == 0 {
			e.Rule.Delay = time.Duration(1+r.IntN(500)) * time.Millisecond
		}
	case k < 25 || len(names) == 0:
		e.Action = Slow
		e.Rule = []link.Rule{
			{Delay: time.Duration(r.IntN(400)) * time.Millisecond, Jitter: time.Duration(1+r.IntN(200)) * time.Millisecond},
			{Loss: float64(1+r.IntN(10)) / 100},
			{Rate: 20_000 + r.IntN(200_000)},
		}[r.IntN(3)]
	default:
		e.Action, e.Node, e.Name = Adversary, 1+r.IntN(3), names[r.IntN(len(names))]
	}
	return []Event{e}
}

// split returns events that cut the net in two at the time of e: they disconnect the first n nodes
// from the other nodes.
func split(e Event, nodes []int, n int) (parts []Event) {
	for _, e.Node = range nodes[:n] {
		e.Action, e.Peers = Disconnect, slices.Clone(nodes[n:])
		parts = append(parts, e)
	}
	return parts
}
