package experiment_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/testnet/experiment/figure"
)

// TestDraw draws every kind of panel: well-formed, and with its provenance.
func TestDraw(t *testing.T) {
	x := []float64{1, 2, 3}
	f := figure.Figure{Title: "all", Panels: []figure.Panel{
		{Title: "lines", Top: 1, Marks: []figure.Mark{{At: 1, Text: "a tenth"}, {At: 3, Text: "ten"}}, Lines: []figure.Line{
			{Name: "a", X: x, Y: []float64{.9, .5, .1}, Low: []float64{.8, .4, .1}, High: []float64{1, .6, .2}},
			{Name: "with a gap", Colour: "a", X: x, Y: []float64{.9, math.NaN(), .1}, Dashed: true, Dots: true},
			{Name: "nothing", X: x, Y: []float64{math.NaN(), math.NaN(), math.NaN()}},
		}},
		{Title: "bars", Bars: &figure.Bars{Categories: []string{"N=4", "N=10"}, Stacks: []string{"LGC", "BC"},
			Values: [][]float64{{1, 2}, {3, math.NaN()}}}},
		{Title: "map", Map: &figure.Map{Rows: []string{"r"}, Columns: []string{"a", "b"},
			Values: [][]float64{{.1, math.NaN()}}}},
	}}
	svg, err := f.Draw([]figure.Note{{Name: "command", Text: `spdl-lab experiment x --quick & <more>`}})
	require.NoError(t, err)
	require.Contains(t, string(svg), "command: spdl-lab experiment x --quick &amp; &lt;more&gt;")
	require.Contains(t, string(svg), ">a tenth</text>")
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
	again, err := f.Draw([]figure.Note{{Name: "command", Text: `spdl-lab experiment x --quick & <more>`}})
	require.NoError(t, err)
	require.Equal(t, svg, again)
	require.NotContains(t, string(svg), "small print")
	f.Foot = "small print"
	foot, err := f.Draw(nil)
	require.NoError(t, err)
	require.Contains(t, string(foot), ">small print</text>")
}
