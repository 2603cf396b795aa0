package gradients

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
)

// BenchmarkPairwise reports pair-coordinates a second, n(n-1)/2 * d of them a call, and payload
// bytes a second. Run it with -cpu 1 for the figure of one core.
func BenchmarkPairwise(b *testing.B) {
	for _, w := range []Width{Int8, Int16} {
		for name, k := range kernels(w) {
			for _, n := range []int{4, 10, 30, 100} {
				for _, d := range []int{1970, 7850, 101770, 1000000} {
					b.Run(fmt.Sprintf("width=%v/kernel=%s/n=%d/d=%d", w, name, n, d), func(b *testing.B) {
						vs := generate(w, n, d, 1)
						b.SetBytes(int64(n * d * int(w)))
						b.ReportAllocs()
						spent := cpuTime()
						for b.Loop() {
							pairwise(vs, k, runtime.GOMAXPROCS(0))
						}
						b.ReportMetric((cpuTime()-spent)/float64(b.N)*1e3, "cpu-ms/op")
						work := float64(n*(n-1)/2*d) * float64(b.N)
						b.ReportMetric(work/b.Elapsed().Seconds()/1e9, "Gpair-elem/s")
					})
				}
			}
		}
	}
}

func BenchmarkSquaredNorm(b *testing.B) {
	for _, w := range []Width{Int8, Int16} {
		b.Run(fmt.Sprintf("width=%v/d=101770", w), func(b *testing.B) {
			v := generate(w, 1, 101770, 1)[0]
			for b.Loop() {
				v.SquaredNorm()
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, w := range []Width{Int8, Int16} {
		b.Run(fmt.Sprintf("width=%v/d=101770", w), func(b *testing.B) {
			payload := generate(w, 1, 101770, 1)[0].Encode()
			b.SetBytes(int64(len(payload)))
			for b.Loop() {
				if _, err := Decode(w, 101770, payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMean(b *testing.B) {
	for _, w := range []Width{Int8, Int16} {
		for _, n := range []int{30, 100} {
			b.Run(fmt.Sprintf("width=%v/n=%d/d=101770", w, n), func(b *testing.B) {
				vs := generate(w, n, 101770, 1)
				for b.Loop() {
					Mean(vs)
				}
			})
		}
	}
}

// cpuTime returns the seconds that all threads of the process have worked.
func cpuTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
