package rules

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/spdl/spdl/gradients"
)

func BenchmarkAggregate(b *testing.B) {
	for _, name := range Names() {
		for _, w := range []gradients.Width{gradients.Int8, gradients.Int16} {
			for _, shape := range [][2]int{{30, 101770}, {100, 7850}} {
				n, d := shape[0], shape[1]
				b.Run(fmt.Sprintf("rule=%s/width=%v/n=%d/d=%d", name, w, n, d), func(b *testing.B) {
					rule, err := Lookup(name)
					if err != nil {
						b.Fatal(err)
					}
					in := Input{N: n, F: (n - 1) / 3, Vectors: generate(w, n, d, 32, 1)}
					for rule.Denominator(n, in.F, n) == 0 { // the largest that the rule can be computed for
						in.F--
					}
					b.SetBytes(int64(n * d * int(w)))
					spent := cpuTime()
					for b.Loop() {
						if _, err := rule.Aggregate(in); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric((cpuTime()-spent)/float64(b.N)*1e3, "cpu-ms/op")
				})
			}
		}
	}
}

// cpuTime returns the seconds that all threads of the process have worked: other than the wall
// clock it counts what a rule costs a machine that does something else as well.
func cpuTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
