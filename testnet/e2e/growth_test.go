//go:build e2e

package e2e

import (
	endian "encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/testnet"
)

var keepGrowth = flag.Bool("keep", false, "whether TestGrowth writes its exponents into testdata/growth.json")

// axes are the quantities in which nets grow, each with the values of the small form, which CI runs,
// and of the large one. The other quantities stay at 4 nodes, 7,850 parameters and 12 counted rounds.
// The value of d is its number of hidden units.
var axes = []struct {
	name         string
	small, large []int
	set          func(m *testnet.Manifest, value int) (quantity int)
}{
	{"N", []int{4, 6, 9}, []int{4, 8, 16}, func(m *testnet.Manifest, n int) int { m.Validators = n; return n }},
	{"d", []int{16, 48, 144}, []int{32, 128, 512}, func(m *testnet.Manifest, units int) int {
		m.Adjust = withHidden(uint(units))
		return 795*units + 10
	}},
	{"rounds", []int{12, 24, 48}, []int{25, 75, 225}, func(m *testnet.Manifest, counted int) int {
		m.Rounds = uint64(counted + warmup)
		return counted
	}},
}

// measures are the costs of a run, each with the bound on how far its exponents may be above the last
// ones; 0 for none. Five runs on two busy cores differed by up to 0.7 in time, 0.13 in CPU, 0.06 in
// bytes and 0.12 in disk (docs/LAB.md). `make trips` holds the waits of a round.
var measures = []struct {
	name  string
	bound float64
}{{"time", 0}, {"CPU", 0.25}, {"bytes sent", 0.1}, {"memory", 0.35}, {"disk", 0.15}}

// costs are those of a run, by measure.
type costs map[string]float64

func costsOf(s sample) costs {
	return costs{"time": median(s.gaps) * float64(len(s.gaps)), "CPU": s.cpu, "bytes sent": s.bytes, "memory": s.heap,
		"disk": s.disk}
}

// oneNet is the environment variable that asks TestOneNet for a net: the position of an axis, a value
// and the folder of the data.
const oneNet = "SPDL_ONE_NET"

// TestOneNet runs a net in a process of its own, so that earlier nets are not in its memory, and
// prints what it costs.
func TestOneNet(t *testing.T) {
	var axis, value int
	var data string
	if _, err := fmt.Sscan(os.Getenv(oneNet), &axis, &value, &data); err != nil {
		t.Skip("a part of TestGrowth")
	}
	m := testnet.Manifest{Validators: 4, Preset: *preset, Rounds: 12 + warmup, Data: data, Adjust: withHidden(0)}
	axes[axis].set(&m, value)
	s, _, err := runOne(t.Context(), m, false)
	require.NoError(t, err)
	text, err := json.Marshal(costsOf(s))
	require.NoError(t, err)
	fmt.Printf("\n%s%s\n", oneNet, text)
}

// runAlone returns the costs of a net that TestOneNet runs in another process.
func runAlone(tb testing.TB, axis, value int, data string) (c costs) {
	cmd := exec.CommandContext(tb.Context(), os.Args[0], "-test.run", "^TestOneNet$", "-preset", *preset)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s", oneNet, axis, value, data))
	out, err := cmd.CombinedOutput()
	require.NoError(tb, err, string(out))
	_, text, _ := strings.Cut(string(out), "\n"+oneNet)
	text, _, _ = strings.Cut(text, "\n")
	require.NoError(tb, json.Unmarshal([]byte(text), &c), string(out))
	return c
}

func median(xs []float64) float64 { return slices.Sorted(slices.Values(xs))[len(xs)/2] }

// exponents has the exponent of each measure in each quantity.
type exponents map[string]map[string]float64

// grow runs a net for each value of each quantity, writes what each costs, and returns the exponents:
// the slopes of least squares of the logarithms.
func grow(tb testing.TB, values func(axis int) []int, out io.Writer) exponents {
	data := tb.TempDir()
	require.NoError(tb, writeImages(data))
	all := exponents{}
	for i, a := range axes {
		var x []float64
		y := map[string][]float64{}
		for _, value := range values(i) {
			quantity, cost := a.set(&testnet.Manifest{}, value), runAlone(tb, i, value, data)
			x = append(x, math.Log(float64(quantity)))
			fmt.Fprintf(out, "%-6s %7d", a.name, quantity)
			for _, c := range measures {
				y[c.name] = append(y[c.name], math.Log(cost[c.name]))
				fmt.Fprintf(out, "  %s %.4g", c.name, cost[c.name])
			}
			fmt.Fprintln(out)
		}
		all[a.name] = map[string]float64{}
		for name, logs := range y {
			all[a.name][name] = slope(x, logs)
		}
	}
	return all
}

// slope returns the slope of the line with the least squares through points.
func slope(x, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	n := float64(len(x))
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// BenchmarkGrowth measures how the costs of a net of 4 nodes or more, in one process, grow: of all
// its nodes, in time (ms of the counted rounds), CPU (s), bytes sent, memory (bytes of live objects)
// and disk (bytes). `make bench-scale` runs it.
func BenchmarkGrowth(b *testing.B) {
	for b.Loop() {
		all := grow(b, func(axis int) []int { return axes[axis].large }, b.Output())
		for quantity, of := range all {
			for name, e := range of {
				b.ReportMetric(e, strings.ReplaceAll(name, " ", "-")+"~"+quantity)
			}
		}
	}
}

// TestGrowth: costs grow as they did when testdata/growth.json was written, within the bounds of
// measures. Only exponents are compared, so that the machine matters little.
func TestGrowth(t *testing.T) {
	all := grow(t, func(axis int) []int { return axes[axis].small }, t.Output())
	file := filepath.Join("testdata", "growth.json")
	if *keepGrowth {
		text, err := json.MarshalIndent(all, "", "  ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o644))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var last exponents
	require.NoError(t, json.Unmarshal(text, &last))
	for _, a := range axes {
		for _, c := range measures {
			got, want := all[a.name][c.name], last[a.name][c.name]
			t.Logf("%s grows with the power %.2f of %s, the last one is %.2f", c.name, got, a.name, want)
			if c.bound > 0 {
				require.LessOrEqual(t, got, want+c.bound, "%s in %s", c.name, a.name)
			}
		}
	}
}

// writeImages writes a data set of a few empty images, so that nodes hold little besides the chain.
func writeImages(dir string) error {
	const side = 28
	for prefix, n := range map[string]int{"train": 1600, "t10k": 10} {
		images, labels := []byte{0, 0, 8, 3}, []byte{0, 0, 8, 1}
		for _, x := range []int{n, side, side} {
			images = endian.BigEndian.AppendUint32(images, uint32(x))
		}
		labels = endian.BigEndian.AppendUint32(labels, uint32(n))
		for i := range n {
			labels = append(labels, byte(i%10))
		}
		if err := os.WriteFile(filepath.Join(dir, prefix+"-images-idx3-ubyte"), append(images, make([]byte, n*side*side)...),
			0o600); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, prefix+"-labels-idx1-ubyte"), labels, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// liveHeap returns the bytes of this process's live objects.
func liveHeap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// bytesIn returns the bytes of the files in a folder.
func bytesIn(dir string) (sum float64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if os.IsNotExist(err) { // a running node's databases drop files
			return nil
		}
		sum += float64(info.Size())
		return err
	})
	return sum, err
}
