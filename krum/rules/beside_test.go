package rules

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/spdl/spdl/gradients"
)

// BenchmarkBeside measures, in CPU time of one thread, what the project, NumPy and PyTorch take for
// the same work. make bench makes a table of it. PYTHON names the interpreter that has the
// libraries; one that is not installed is left out.
func BenchmarkBeside(b *testing.B) {
	fmt.Printf("kernel: %s\n", gradients.Kernel(gradients.Int8))
	peers := map[string]*peer{"numpy": startPeer(b, "numpy"), "torch": startPeer(b, "torch")}
	for _, c := range []struct {
		operation string
		n, d      int
	}{
		{"pairwise", 30, 101770}, {"pairwise", 30, 1000000}, {"pairwise", 100, 101770},
		{"trimmed-mean", 30, 101770}, {"trimmed-mean", 100, 7850},
		{"median", 30, 101770}, {"median", 100, 7850},
		{"nnm+trimmed-mean", 1000, 7850},
	} {
		shape := fmt.Sprintf("%s/n=%d/d=%d", c.operation, c.n, c.d)
		b.Run(shape+"/by=ours", func(b *testing.B) { benchmarkOurs(b, c.operation, c.n, c.d) })
		for _, name := range []string{"numpy", "torch"} {
			b.Run(shape+"/by="+name, func(b *testing.B) {
				seconds, err := peers[name].ask(c.operation, c.n, c.d, b.N)
				if err != nil {
					b.Skip(err)
				}
				b.ReportMetric(seconds/float64(b.N)*1e3, "cpu-ms/op")
			})
		}
	}
}

func benchmarkOurs(b *testing.B, operation string, n, d int) {
	in := Input{N: n, F: (n - 1) / 3, Vectors: generate(gradients.Int8, n, d, 32, 1)}
	work := func() error { gradients.Pairwise(in.Vectors); return nil }
	if operation != "pairwise" {
		rule, err := Lookup(operation)
		if err != nil {
			b.Fatal(err)
		}
		work = func() error { _, err := rule.Aggregate(in); return err }
	}
	spent := cpuTime()
	for b.Loop() {
		if err := work(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpuTime()-spent)/float64(b.N)*1e3, "cpu-ms/op")
}

// peer is a process of testdata/peers.py, nil if the library is not installed.
type peer struct {
	in  io.Writer
	out *bufio.Scanner
}

func startPeer(b *testing.B, library string) *peer {
	for _, python := range []string{os.Getenv("PYTHON"), "python3", "/usr/bin/python3"} {
		if python == "" || exec.Command(python, "-c", "import "+library).Run() != nil {
			continue
		}
		cmd := exec.Command(python, "testdata/peers.py", library)
		cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
		p := &peer{in, bufio.NewScanner(out)}
		if p.out.Scan() {
			fmt.Printf("peer: %s %s\n", library, p.out.Text())
		}
		return p
	}
	return nil
}

// ask returns the seconds that the peer takes.
func (p *peer) ask(operation string, n, d, times int) (float64, error) {
	if p == nil {
		return 0, fmt.Errorf("the library is not installed")
	}
	fmt.Fprintln(p.in, operation, n, d, times)
	if !p.out.Scan() {
		return 0, fmt.Errorf("the peer ended: %w", cmp.Or(p.out.Err(), io.EOF))
	}
	if strings.TrimSpace(p.out.Text()) == "none" {
		return 0, fmt.Errorf("the peer has no %s", operation)
	}
	return strconv.ParseFloat(p.out.Text(), 64)
}
