package worker_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/internal/stage"
)

// way is one of the ways in which a worker's home names data.
type way struct {
	params params.Params
	rows   int                        // number of training rows in the file
	home   func(w *home.WorkerConfig) // names the data
	// write writes the data without the row gone; with all rows if gone is negative. For data in
	// the program itself write does nothing, and part removes the row after the reader.
	write func(t *testing.T, gone int)
	part  func(gone int) home.PartOf
	// place returns the number of training rows among the first rows of the file.
	place func(t *testing.T, rows int) int
}

// open returns the trainer of a home that names the data, without one row.
func (w way) open(t *testing.T, gone int) *worker.Trainer {
	t.Helper()
	if w.write != nil {
		w.write(t, gone)
	}
	c, a := home.DefaultConfig(), home.DefaultAppConfig()
	made, err := home.Init(filepath.Join(t.TempDir(), "home"), c, a)
	require.NoError(t, err)
	doc, err := home.NewGenesis("alone", time.Now(), app.Genesis{
		Params: w.params, Seed: make([]byte, 32), Participants: []app.Participant{made.Participant(0, "alone",
			make([]byte, 32), w.params.Reputation)},
	})
	require.NoError(t, err)
	require.NoError(t, doc.SaveAs(c.GenesisFile()))
	w.home(&a.Worker)
	data := home.PartOf(home.LoadPart)
	if w.part != nil {
		data = w.part(gone)
	}
	conf, err := home.WorkerOf(c, a, new(home.Keystore), home.Participant{}, data, func(string, ...any) {})
	require.NoError(t, err)
	conf.Log = func(string, ...any) {}
	trainer, err := worker.Open(t.Context(), conf, worker.Task{Active: 1, Params: w.params})
	require.NoError(t, err)
	t.Cleanup(trainer.Close)
	return trainer
}

// coins gives the random words of a batch, one for each row. The row at taken is in the batch; if
// the row is removed, so is its word.
type coins struct {
	words *rand.Rand
	at    int
	taken int
	gone  bool
}

func (c *coins) Uint64() uint64 {
	word := c.words.Uint64()
	c.at++
	if c.at-1 != c.taken {
		return word
	}
	if c.gone {
		return c.words.Uint64()
	}
	return 0
}

// distance returns the distance between the sums with and without a row, for the same coins, and
// the difference in the number of training rows.
func (w way) distance(t *testing.T, whole *worker.Trainer, gone int) (apart float64, fewer int) {
	less := w.open(t, gone)
	fewer = whole.Len() - less.Len()
	taken := -1
	if fewer == 1 {
		taken = w.place(t, gone)
	}
	x := make([]float64, w.params.Model.Dim())
	random := rand.New(rand.NewPCG(5, 5))
	for j := range x {
		x[j] = 0.05 * random.NormFloat64()
	}
	sum := func(trainer *worker.Trainer, seed uint64, gone bool) []float64 {
		s, err := trainer.Sum(t.Context(), &coins{words: rand.New(rand.NewPCG(seed, 1)), taken: taken, gone: gone}, x)
		require.NoError(t, err)
		return s
	}
	for round := range uint64(3) {
		a, b := sum(whole, round, false), sum(less, round, true)
		square := 0.0
		for j := range a {
			square += (a[j] - b[j]) * (a[j] - b[j])
		}
		apart = max(apart, math.Sqrt(square))
	}
	return apart, fewer
}

// TestOneRowFromFileToSum tests the whole path from a file that a worker's home names to the sum
// that is released with noise: with the same coins, one row of the file, or one group of images, more
// or less moves the sum by at most the clip norm, and not at all if it is a test row. There are twice
// the rows for which the batch is meant, so that the sum's bound applies. docs/PRIVACY.md excludes
// shares of a partition: there one row moves the sum by more.
func TestOneRowFromFileToSum(t *testing.T) {
	for name, of := range map[string]func(*testing.T) way{
		"embedded": embedded, "images": images, "strokes": strokes, "groups": groups, "table": csvFile,
		"numpy-csv": study("numpy-csv"), "sklearn": study("sklearn"),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "numpy-csv" || name == "sklearn" {
				stage.OnlyLong(t) // starts Python for each row
			}
			w := of(t)
			whole := w.open(t, -1)
			sides := map[int]int{}
			rows := []int{0, 1, w.rows / 3, w.rows / 2, w.rows - 1}
			for k := 2; w.place != nil && k < stage.Pick(6, 8, 20); k++ {
				rows = append(rows, k*w.rows/41)
			}
			if name == "embedded" {
				rows = []int{0, w.rows / 2, w.rows - 1}
			}
			for _, gone := range rows {
				apart, fewer := w.distance(t, whole, gone)
				require.Contains(t, []int{0, 1}, fewer, "row %d", gone)
				require.LessOrEqual(t, apart, float64(fewer)*w.params.Privacy.Clip, "row %d", gone)
				sides[fewer]++
			}
			require.Positive(t, sides[1])

			if name == "embedded" || strings.HasPrefix(t.Name(), "sklearn") {
				return
			}
			inner := w.home
			w.home = func(c *home.WorkerConfig) { inner(c); c.Parts, c.Part, c.PartitionSeed = 4, 1, 7 }
			whole, most := w.open(t, -1), 0.0
			for _, gone := range rows {
				apart, _ := w.distance(t, whole, gone)
				most = max(most, apart)
			}
			require.Greater(t, most, 2*w.params.Privacy.Clip, "a share moves with the number of rows")
		})
	}
}
