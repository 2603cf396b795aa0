package pages

import (
	"fmt"

	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

type gainPage struct {
	Gained
	Newest        params.RoundID
	Chosen, Alone adapt.Measured
	Models        []adapt.Measured // your own first
	Curve         chart            // observed by predicted probability
	Export        string
	External      bool // the model is a study's
}

// theGain shows a member what it gains. Other readers get an error, which names the readers that the page is for.
func theGain(r *Request) Content {
	if r.Gained == nil {
		r.Fail(fmt.Errorf("%w: page %q is a member's own, at a loopback or private address, for a table of two classes: "+
			"spdl explorer --gain --home HOME, or explorer.gain of app.toml", chainview.ErrNotFound, r.URL.Path))
		return Content{}
	}
	b := gainPage{Gained: r.Gained(r)}
	now := r.Course()
	if len(now.Points) > 0 {
		b.Newest = now.Points[len(now.Points)-1].ID()
	}
	b.External = now.Params.Model.Kind == params.ModelExternal
	b.Export = fmt.Sprintf("spdl model export --round %d --out m.safetensors --node %s", b.Newest.Round, r.Node)
	if b.Report != nil {
		b.Chosen, b.Alone = b.Report.Chosen()
		b.measure()
	}
	return Content{"gain", "Your gain", b}
}

// measure sets the models, and the calibration curves of those that matter.
func (b *gainPage) measure() {
	b.Models = append([]adapt.Measured{b.Alone}, b.Report.Models[:len(b.Report.Models)-1]...)
	b.Curve = chart{Name: "calibration", Title: "Calibration", Unit: "%", Across: "predicted probability",
		Legend: fmt.Sprintf("share of %s by predicted probability; a model whose probabilities mean what they say is on the "+
			"straight line", b.Report.Class)}
	const whole = 1000 // the axis is in thousandths
	lines := []line{{Class: "guide", dots: []dot{{0, 0}, {whole, 1}}}}
	for _, m := range b.Models {
		l := line{Name: m.Name}
		for _, bin := range m.Curve {
			if bin.Rows >= leastBin {
				l.dots = append(l.dots, dot{uint64(whole * bin.Chance), bin.Positive})
			}
		}
		if m.Name == adapt.Alone || m.Name == adapt.Shared || m.Chosen {
			lines = append(lines, l)
		}
	}
	b.Curve.many(lines, 0, whole, 1)
	for i := range b.Curve.Rounds {
		b.Curve.Rounds[i].Label = b.Curve.label(float64(i) / 2)
	}
}

// leastBin is the min number of test rows in a point of a calibration curve.
const leastBin = 5
