package experiment

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// cost estimates the total time of jobs that run one after another, in seconds of an arbitrary
// machine. A net exchanges n^2 gradients a round, and a training computes n.
func cost(jobs []job) (seconds float64) {
	for _, j := range jobs {
		switch c := j.cell; {
		case c.Latency != nil:
			seconds += 1.5e-3 * float64(c.Latency.Rounds) * float64(c.Latency.Nodes*c.Latency.Nodes)
			seconds += float64(c.Latency.Rounds+1) * c.Latency.Step.Seconds()
		case c.Real != nil:
			seconds += 1.5e-3 * float64(c.Real.Params.Training.Rounds) * float64(c.Real.Nodes*c.Real.Nodes)
		default:
			seconds += 3e-7 * float64(c.Learn.Params.Training.Rounds) * float64(c.Learn.Nodes*c.Learn.Params.Model.Dim())
		}
	}
	return seconds
}

// progress reports the progress of a run, on one line per cell.
type progress struct {
	mu           sync.Mutex
	log          io.Writer
	start        time.Time
	count, total int
	behind       float64 // cost of the finished jobs
	ahead        float64 // cost of the remaining jobs
}

func (p *progress) done(j job, took time.Duration, cost float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.behind, p.ahead = p.behind+cost, max(0, p.ahead-cost)
	left := time.Duration(float64(time.Since(p.start)) * p.ahead / p.behind)
	fmt.Fprintf(p.log, "%d/%d  %s: %.1f s; %s left\n", p.count, p.total, j.name, took.Seconds(), left.Round(time.Second))
}
