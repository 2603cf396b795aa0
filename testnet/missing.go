package testnet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/internal/printable"
)

// Missed is a participant without a gradient in rounds of the run.
type Missed struct {
	Participant uint32 `json:"participant"`
	Rounds      int    `json:"rounds"`
	Late        bool   `json:"late,omitempty"`   // it has been late in rounds that waited for it
	Reason      string `json:"reason,omitempty"` // why its trainer gave no gradient (failureIn)
}

// missing counts the gradients that the rounds of a run lack.
type missing map[uint32]Missed

// count adds a round. It warns of each trainer that fails, once, and names those in the text that it returns.
func (r *Reporter) count(x Round) string {
	if r.missing == nil {
		r.missing = missing{}
	}
	var names []string
	for _, p := range x.Missing {
		m, fails := r.missing[p], ""
		if why := failureIn(r.logs[p]); why != "" && !x.Past {
			if fails = " (its trainer fails)"; m.Reason == "" {
				r.Warn(fmt.Sprintf("participant %d makes no gradient: %s", p, why))
			}
			m.Reason = why
		}
		r.missing[p] = Missed{p, m.Rounds + 1, m.Late || slices.Contains(x.Late, p), m.Reason}
		names = append(names, fmt.Sprint(p, fails))
	}
	if len(names) == 0 {
		return ""
	}
	return "  missing " + listed(names, func(name string) string { return name })
}

// failed matches a line of a worker's log about a trainer that gave no gradient, and captures the reason.
var failed = regexp.MustCompile(`nothing spent: (?:no gradient: )?(.*?) +module=worker|` +
	`the trainer has not started, it is tried again.* err="?(.*?)"? after=`)

// failureIn returns why a node's worker made no gradient when it tried last, by the node's log. It is "" if the worker
// made one or has not tried, and without a log, as in this process.
func failureIn(path string) (why string) {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		m := failed.FindStringSubmatch(line)
		// of a failure, a pause or a round that was missed follows
		follows := strings.Contains(line, trainer.Pauses) || strings.Contains(line, "closed while the trainer computed")
		if strings.Contains(line, worker.Computed) {
			why = ""
		} else if m != nil && !follows {
			why = printable.Line(m[1] + m[2])
		}
	}
	return why
}

// Standstill says what keeps participants from their gradients, as the nodes' logs or the nodes themselves have it, each
// with "; " behind it. It returns an error if more trainers fail than rounds can do without.
func (n *Net) Standstill(ctx context.Context) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	lost, fails := 0, 0
	for i, node := range n.Nodes[:n.Manifest.Validators] {
		if why := failureIn(node.LogFile()); why != "" {
			said += fmt.Sprintf("participant %d makes no gradient: %s; ", i, why)
			fails++
		} else if n.Manifest.attack(i) == "silent" {
			lost++
		} else if c, err := client.New(node.RPC); err == nil {
			if s, err := c.Status(ctx); err == nil && s.Home != nil && s.Home.Step != "" {
				said += fmt.Sprintf("node %d: %s; ", i, s.Home.Step)
			}
		}
	}
	if f := int(n.Genesis.Params.Rule.Byzantine); fails > 0 && fails+lost > f {
		return "", fmt.Errorf("no round can close any more, as rounds do without %d gradients: %sthe log is %s", f, said,
			n.Nodes[0].LogFile())
	}
	return said, nil
}

// all returns those that missed a round, those with the most rounds first.
func (m missing) all() []Missed {
	return slices.SortedFunc(maps.Values(m), func(a, b Missed) int {
		return cmp.Or(b.Rounds-a.Rounds, cmp.Compare(a.Participant, b.Participant))
	})
}

// listed formats a list, up to its eighth element.
func listed[T any](all []T, text func(T) string) string {
	const most = 8
	var texts []string
	for _, x := range all[:min(most, len(all))] {
		texts = append(texts, text(x))
	}
	if more := len(all) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// missed formats who missed rounds, "" if nobody, and the remedy if a participant without an attack was late.
func (r *Reporter) missed(s Summary) string {
	if len(s.Missed) == 0 {
		return ""
	}
	late := false
	text := "gradients missing: " + listed(s.Missed, func(x Missed) string {
		why := ""
		if kind := r.Manifest.attack(int(x.Participant)); kind != "" {
			why = " by its attack " + kind
		} else if x.Reason != "" {
			why = ", as it made none: " + x.Reason
		} else if x.Late {
			why, late = ", as it was late", true
		}
		return fmt.Sprintf("participant %d in %d of %d rounds%s", x.Participant, x.Rounds, s.Rounds, why)
	}) + "\n"
	if late {
		text += "if its training steps are slow: a net made with --patience 30s has rounds that wait so much longer for " +
			"them; spdl trainer check measures a step\n"
	}
	return text
}
