package app_test

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

//go:embed testdata/golden.txt
var golden string

// TestGolden runs 50 rounds of seeded chains and compares the application hash with the recorded
// one. So every build (with or without assembly, GOAMD64, arm64 under emulation, any GOMAXPROCS)
// must give the same bits. This test wrote the file on amd64 with SPDL_TEST_GOLDEN=path. A change of the
// file is state-breaking.
func TestGolden(t *testing.T) {
	var got strings.Builder
	for _, c := range []struct {
		name   string
		n      int
		mutate func(*params.Params)
	}{
		{"krum int8", 4, func(p *params.Params) { p.Rule.Name = "krum" }},
		{"multi-krum int8 momentum decay", 4, func(p *params.Params) {
			p.Training.Momentum, p.Training.WeightDecay = 0.9,
				0.001
		}},
		{"nnm+trimmed-mean int8", 10, func(p *params.Params) { p.Rule.Name = "nnm+trimmed-mean" }},
		{"krum unsquared int16", 7, func(p *params.Params) { p.Rule.Name, p.Rule.Unsquared, p.Grid.Width = "krum", true, 2 }},
		{"mean mlp int8", 4, func(p *params.Params) {
			p.Rule.Name = "mean"
			p.Model = params.Model{Kind: params.ModelMLP, Inputs: 40, Hidden: 12, Classes: 10, Pool: 1, PixelScale: 255}
		}},
		{"mean of sums int16", 4, func(p *params.Params) { apptest.Summed(p); p.Rule.Name = "mean" }},
		{"multi-krum softmax 7850", 4, func(p *params.Params) { p.Model.Inputs, p.Model.Classes = 784, 10 }},
	} {
		s := apptest.State(c.n, c.mutate)
		last := run(t, s, 50)[49]
		hash := last.Hash()
		fmt.Fprintf(&got, "%s  %s\n", hex.EncodeToString(hash[:]), c.name)
	}
	got.WriteString(goldenBounds("", 0, 0.5, 0.9, 0.999))
	got.WriteString(goldenBounds(" of sums", 1))
	if path := os.Getenv("SPDL_TEST_GOLDEN"); path != "" {
		require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o644))
		return
	}
	require.Equal(t, golden, got.String())
}

// goldenBounds covers the part of the noise floor that is computed in float64: G6, and the rule's
// distance floor.
func goldenBounds(of string, betas ...float64) string {
	h := sha256.New()
	for _, batch := range []uint32{1, 600, 1500, 15000} {
		for _, beta := range betas {
			p := apptest.Params(4, apptest.Noisy, func(p *params.Params) {
				p.Privacy.Batch, p.Privacy.WorkerMomentum = batch, beta
				p.Grid.Step = 1 / (3 * float64(batch))
			})
			for age := 1; age <= 300; age++ {
				least, greatest := p.Noise().Bounds(age, age+3)
				for _, x := range []int64{least, greatest, p.DistanceFloor(uint64(age-1), age)} {
					h.Write(binary.BigEndian.AppendUint64(nil, uint64(x)))
				}
			}
		}
	}
	return fmt.Sprintf("%x  bounds of the noise floor%s\n", h.Sum(nil), of)
}
