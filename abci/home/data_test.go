package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model/inputs"
	tables "github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist"
)

// ofOne makes the home of a chain of one participant.
func ofOne(t *testing.T) (*config.Config, AppConfig) {
	t.Helper()
	c, a := DefaultConfig(), DefaultAppConfig()
	home, err := Init(filepath.Join(t.TempDir(), "home"), c, a)
	require.NoError(t, err)
	p, err := preset.New("pixels", 1)
	require.NoError(t, err)
	doc, err := NewGenesis("one", time.Now(), app.Genesis{Params: p, Seed: make([]byte, 32),
		Participants: []app.Participant{
			home.Participant(0, "one", make([]byte, 32), p.Reputation),
		}})
	require.NoError(t, err)
	require.NoError(t, doc.SaveAs(c.GenesisFile()))
	return c, a
}

// TestDataOfTheOtherKind: images for a chain with a table, and a table for a chain with images, are
// rejected with an error that has both shapes, and the worker does not participate. From a table
// that fits, the worker gets its participant's share.
func TestDataOfTheOtherKind(t *testing.T) {
	images := params.Model{Kind: params.ModelSoftmax, Inputs: 784, Classes: 10, Pool: 1, PixelScale: 255}
	table := params.Model{Kind: params.ModelSoftmax, Inputs: 1, Classes: 2, Pool: 1, PixelScale: 255, Table: &params.Table{
		Label: "ill", Classes: []string{"no", "yes"}, Columns: []params.Column{{Name: "age", High: 255}},
	}}
	file := filepath.Join(t.TempDir(), "p.csv")
	text := "ill,age\n"
	for age := range 40 {
		text += fmt.Sprintf("%s,%d\n", []string{"no", "yes"}[age%2], age)
	}
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	whole, err := tables.Load(file, *table.Table)
	require.NoError(t, err)
	c, a := ofOne(t)
	ask := func(data string, m params.Model) (int, error) {
		home := a
		home.Worker.Data, home.Worker.Parts = data, 2
		w, err := WorkerOf(c, home, new(Keystore), Participant{}, LoadPart, func(string, ...any) {})
		require.NoError(t, err)
		f, err := w.Data(context.Background(), worker.Task{Active: 4, Params: params.Params{Model: m}})
		return f.Len(), err
	}
	n, err := ask(file, table)
	require.NoError(t, err)
	require.Equal(t, whole.Train.Len()/2, n, "half of what is not for testing")
	for want, wrong := range map[string]func() (int, error){
		"wants images for 784 inputs and 10 classes":           func() (int, error) { return ask(file, images) },
		`wants 1 columns of a table and 2 classes in its colu`: func() (int, error) { return ask(t.TempDir(), table) },
		"the embedded MNIST are images":                        func() (int, error) { return ask(EmbeddedData, table) },
	} {
		_, err := wrong()
		require.ErrorIs(t, err, inputs.ErrInputs)
		require.ErrorIs(t, err, worker.ErrUnfit)
		require.ErrorContains(t, err, want)
	}
	table.Table.Classes[1] = "perhaps"
	_, err = ask(file, table)
	require.ErrorIs(t, err, worker.ErrUnfit)
	require.ErrorContains(t, err, `p.csv line 3, column "ill": the label is none of the chain's classes: no, perhaps`)
}

// TestNobodyTrainsOnMNISTByAccident: a home without worker.data trains only if it is the chain's
// only participant. With more participants the error names the key to set; "embedded" selects the
// embedded images.
func TestNobodyTrainsOnMNISTByAccident(t *testing.T) {
	c, a := ofOne(t)
	read := func(data string, members int) error {
		home := a
		home.Worker.Data = data
		w, err := WorkerOf(c, home, new(Keystore), Participant{}, func(string, params.Model, mnist.Part) (mnist.Set,
			error) {
			return mnist.Set{}, errors.New("read")
		}, func(string, ...any) {})
		require.NoError(t, err)
		_, err = w.Data(context.Background(), worker.Task{Active: members})
		return err
	}
	require.ErrorContains(t, read("", 1), "read")
	require.ErrorContains(t, read("/my/data", 4), "read")
	require.ErrorContains(t, read(EmbeddedData, 4), "read")
	err := read("", 4)
	require.ErrorIs(t, err, worker.ErrUnfit)
	require.ErrorContains(t, err, "4 participants")
	require.ErrorContains(t, err, `"embedded"`)
	_, err = LoadData(EmbeddedData, params.Model{})
	require.NoError(t, err)
}

// TestGroupsOfImages: a worker of a chain whose unit is a group trains on images with a file of
// groups. It does not participate if that file is missing or faulty. On a chain with another unit
// it logs that the groups are not protected.
func TestGroupsOfImages(t *testing.T) {
	c, a := ofOne(t)
	folder := t.TempDir()
	for file, content := range map[string][]byte{
		"train-images-idx3-ubyte": {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 1, 10, 20, 30},
		"train-labels-idx1-ubyte": {0, 0, 8, 1, 0, 0, 0, 3, 0, 1, 1},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), content, 0o600))
	}
	groups := filepath.Join(folder, mnist.GroupsFile)
	var said []string
	ask := func(data, unit string) (mnist.Features, error) {
		home := a
		home.Worker.Data, said = data, nil
		w, err := WorkerOf(c, home, new(Keystore), Participant{}, LoadPart,
			func(message string, _ ...any) { said = append(said, message) })
		require.NoError(t, err)
		return w.Data(context.Background(), worker.Task{Active: 1, Params: params.Params{
			Privacy: params.Privacy{Unit: unit}, Model: params.Model{
				Kind: params.ModelSoftmax, Inputs: 1, Classes: 2, Pool: 1, PixelScale: 255}}})
	}
	for _, data := range []string{folder, EmbeddedData} {
		_, err := ask(data, params.UnitGroup)
		require.ErrorIs(t, err, worker.ErrUnfit)
		require.ErrorContains(t, err, data+" have no groups: want the file train-groups.csv beside their labels")
	}
	require.NoError(t, os.WriteFile(groups, []byte("image,group\n0,p\n2,p\n"), 0o600))
	_, err := ask(folder, params.UnitGroup)
	require.ErrorIs(t, err, worker.ErrUnfit)
	require.ErrorContains(t, err, "1 of 3 images have no line, the first of them is image 1")
	require.NoError(t, os.WriteFile(groups, []byte("image,group\n0,p\n2,p\n1,q\n"), 0o600))
	f, err := ask(folder, params.UnitGroup)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1}, {2}}, mnist.ByGroup(f.Groups), "the images of a group side by side")
	require.Empty(t, said)
	_, err = ask(folder, "")
	require.NoError(t, err)
	require.Equal(t, []string{`the examples have groups, and this chain protects each example by itself: ` +
		`privacy.unit is not "group"`}, said)
}
