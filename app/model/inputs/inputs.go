// Package inputs makes a model's inputs from images: mean-pooled pixels, or the public feature map that the chain's
// parameters name. Workers train on these inputs and evaluators test on them. Validators never see them.
package inputs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/memo"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/features"
)

var (
	// ErrMap means that a chain's parameters name a feature map that is not in this program.
	ErrMap = errors.New("foreign feature map")
	// ErrInputs means that the number of inputs of the data is not the model's, or that the data
	// have more classes than the model.
	ErrInputs = errors.New("data and model do not fit")
)

// Keep says which strokes are computed. Strokes are the values of the public feature map for an image;
// their computation takes 0.1 to 0.2 ms an image. The zero value computes the strokes of whole sets, and keeps
// those of the last sets in memory, for many participants in one process.
type Keep struct {
	Alone bool // whether only the strokes of the given part are computed, and nothing is kept
	// Progress is called during the computation with the number of finished images. An error from
	// Progress ends the computation, and Features returns it. Progress may be nil.
	Progress func(done int) error
}

// Strokes returns the name and the hash of this program's feature map, in the form of the model
// parameters. If a chain names another pair, Features fails with ErrMap.
func Strokes() params.Features {
	hash := features.Hash()
	return params.Features{Name: features.Name, Hash: hex.EncodeToString(hash[:])}
}

// Features converts examples of a set to the model's inputs. part lists the indices of the
// examples, in the order of the result; nil means all examples. The labels are shared with the set
// if part is nil, and copied otherwise. Errors: ErrMap, ErrInputs, [mnist.ErrFeatures] if the
// model's feature map cannot be computed from these images, or the error of keep.Progress.
func Features(set mnist.Set, part []int, m params.Model, keep Keep) (mnist.Features, error) {
	rows := pixels
	if m.Features.Name != params.FeaturesPixels {
		if own := Strokes(); m.Features != own {
			return mnist.Features{}, fmt.Errorf("%w: the chain's is %q of hash %.64s, this program has %q of hash %s",
				ErrMap, m.Features.Name, m.Features.Hash, own.Name, own.Hash)
		}
		rows = strokes
	}
	f, err := rows(set, part, m, keep)
	if err == nil && (f.Inputs != int(m.Inputs) || set.Classes() > int(m.Classes)) {
		err = fmt.Errorf("%w: images of %dx%d give %d inputs and have %d classes, the chain's model wants %d and %d; %s",
			ErrInputs, set.Rows, set.Cols, f.Inputs, set.Classes(), m.Inputs, m.Classes, Remedy)
	}
	return f, err
}

// Check returns the error with which Features would fail for a set and a model. It converts only one example.
func Check(set mnist.Set, m params.Model) error {
	one := set.Subset([]int{0})
	one.Labels[0] = uint8(set.Classes() - 1)
	_, err := Features(one, nil, m, Keep{})
	return err
}

// Remedy names the commands that create a chain for other data.
const Remedy = "a chain for these data is made by spdl-lab testnet start --data, or spdl consortium new --data"

func pixels(set mnist.Set, part []int, m params.Model, _ Keep) (mnist.Features, error) {
	if part != nil {
		set = set.Subset(part)
	}
	f, err := set.Features(int(m.Pool), m.PixelMean, m.PixelScale)
	if err == nil && m.Centred() && f.Inputs == m.Table.Inputs() {
		f = centred(f, m.Table.Centre())
	}
	return f, err
}

// centred subtracts the centre from every row, and appends the constant to it.
func centred(f mnist.Features, centre []float64) mnist.Features {
	rows := make([]float32, 0, f.Len()*(f.Inputs+1))
	for i := range f.Len() {
		for j, v := range f.Row(i) {
			rows = append(rows, float32(float64(v)-centre[j]))
		}
		rows = append(rows, params.TableConstant)
	}
	f.X, f.Inputs = rows, f.Inputs+1
	return f
}

func strokes(set mnist.Set, part []int, _ params.Model, keep Keep) (mnist.Features, error) {
	if keep.Alone {
		if part != nil {
			set = set.Subset(part)
		}
		return features.Strokes(set, keep.Progress)
	}
	x, err := cache.Get(features.Key(set), func() ([]float32, error) {
		f, err := features.Strokes(set, keep.Progress)
		return f.X, err
	})
	f := mnist.Features{X: x, Labels: set.Labels, Inputs: features.Inputs, Groups: set.Groups}
	if err != nil || part == nil {
		return f, err
	}
	return f.Subset(part), nil
}

// cache has the strokes of the last image sets, by the hash of their images: enough for a process with a training
// set and a test set for each of two tasks.
var cache = memo.New[[sha256.Size]byte, []float32](4)
