package explorer

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model/evaluate"
)

// weights returns the picture of a unit's weights: blue for negative, red for positive, and the
// full colour for the largest weight of all units. It exists only for the running epoch, because
// the explorer does not know the shapes of earlier models.
func (s *Server) weights(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	image, err := s.weightsOf(r.WithContext(ctx))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Cache-Control", "max-age=3600")
	_, _ = w.Write(image)
}

// weightsOf returns the requested picture as PNG.
func (s *Server) weightsOf(r *http.Request) ([]byte, error) {
	at, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	index, err := number("unit", r.PathValue("unit"))
	if err != nil {
		return nil, err
	}
	status, running, _, err := s.tail.now()
	if err != nil {
		return nil, err
	}
	n, side := evaluate.Frame(running.Model)
	if side == 0 || at.Epoch != status.Epoch || index >= uint64(n) {
		return nil, fmt.Errorf("%w: picture %d of epoch %d", errNotFound, index, at.Epoch)
	}
	m, err := s.source.model(r.Context(), at)
	if err != nil {
		return nil, err
	}
	x, err := app.DecodeParameters(m.Parameters)
	if err != nil {
		return nil, err
	}
	all, err := evaluate.Pictures(running.Model, x)
	if err != nil {
		return nil, err
	}
	return paint(all, int(index), side)
}

// zoom is the side in pixels of the square for one weight.
const zoom = 6

// paint draws one picture as PNG, with a square of zoom pixels for each number. The values of all
// pictures, which all holds side by side, set the colour scale.
func paint(all []float64, index, side int) ([]byte, error) {
	largest := 0.0
	for _, x := range all {
		if a := math.Abs(x); a > largest && !math.IsInf(a, 0) {
			largest = a
		}
	}
	palette := make(color.Palette, 255) // 127 is zero
	for i := range palette {
		fade := uint8(255 - 255*abs(i-127)/127)
		switch {
		case i > 127:
			palette[i] = color.RGBA{255, fade, fade, 255}
		default:
			palette[i] = color.RGBA{fade, fade, 255, 255}
		}
	}
	img := image.NewPaletted(image.Rect(0, 0, side*zoom, side*zoom), palette)
	for k, x := range all[index*side*side : (index+1)*side*side] {
		shade := 127
		if largest > 0 && x == x {
			shade += int(math.Round(127 * max(-1, min(1, x/largest))))
		}
		for dy := range zoom {
			for dx := range zoom {
				img.SetColorIndex(k%side*zoom+dx, k/side*zoom+dy, uint8(shade))
			}
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, img)
	return b.Bytes(), err
}

func abs(x int) int { return max(x, -x) }
