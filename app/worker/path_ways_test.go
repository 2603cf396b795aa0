package worker_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/spdl/templates"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
)

// fitted returns the parameters of a preset that are meant for half of the given rows.
func fitted(t *testing.T, name string, rows int, data *preset.Data) params.Params {
	t.Helper()
	p, err := preset.Make(name, 1, preset.Own{Data: data, Examples: rows / 2})
	require.NoError(t, err)
	return p
}

// inOrder returns the place of a row if all rows of the file are training rows.
func inOrder(_ *testing.T, rows int) int { return rows }

// embedded is the MNIST in the program: a row is removed after the reader of the files.
func embedded(t *testing.T) way {
	stage.NotShort(t, "reads 60,000 images a row that goes")
	return way{
		params: fitted(t, "pixels", 60_000, nil), rows: 60_000, place: inOrder,
		home: func(w *home.WorkerConfig) { w.Data = home.EmbeddedData },
		part: func(gone int) home.PartOf {
			return func(path string, m params.Model, part mnist.Part) (mnist.Set, error) {
				return home.LoadPart(path, m, func(labels []uint8) ([]int, error) {
					if gone < 0 {
						return part(labels)
					}
					index, err := part(slices.Delete(slices.Clone(labels), gone, gone+1))
					for i := range index {
						if index[i] >= gone {
							index[i]++
						}
					}
					return index, err
				})
			}
		},
	}
}

func images(t *testing.T) way  { return folder(t, "pixels", 1) }
func strokes(t *testing.T) way { return folder(t, "default", 1) }

// groups are images in groups of three. A row is a group.
func groups(t *testing.T) way {
	w := folder(t, "default", 3)
	w.params = fitted(t, "default", w.rows, &preset.Data{Grouped: true, Rows: 28, Cols: 28, Classes: mnist.Classes})
	require.Equal(t, params.UnitGroup, w.params.Privacy.Unit)
	return w
}

// folder is a folder of IDX files with 300 images. A row is size images, a group if that is above 1.
func folder(t *testing.T, name string, size int) way {
	all, err := mnist.Embedded()
	require.NoError(t, err)
	const images = 300
	dir := t.TempDir()
	write := func(t *testing.T, file string, content []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), content, 0o600))
	}
	return way{
		params: fitted(t, name, images/size, nil), rows: images / size, place: inOrder,
		home: func(w *home.WorkerConfig) { w.Data = dir },
		write: func(t *testing.T, gone int) {
			for prefix, set := range map[string]mnist.Set{"train": all.Train, "t10k": all.Test} {
				n, pixels, labels, grouped := 0, []byte(nil), []byte(nil), "image,group\n"
				for i := range images {
					if gone < 0 || i/size != gone {
						grouped += fmt.Sprintf("%d,patient %d\n", n, i/size)
						n, pixels, labels = n+1, append(pixels, set.Image(i)...), append(labels, set.Labels[i])
					}
				}
				head := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 3}, uint32(n))
				head = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(head, uint32(set.Rows)), uint32(set.Cols))
				write(t, prefix+"-images-idx3-ubyte", append(head, pixels...))
				head = binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, uint32(n))
				write(t, prefix+"-labels-idx1-ubyte", append(head, labels...))
				if size > 1 && prefix == "train" {
					write(t, mnist.GroupsFile, []byte(grouped))
				}
			}
		},
	}
}

// lines holds the lines of a CSV file.
type lines struct {
	file string
	head string
	rows []string
}

func (l lines) write(t *testing.T, rows []string) {
	require.NoError(t, os.WriteFile(l.file, []byte(l.head+"\n"+strings.Join(rows, "\n")+"\n"), 0o600))
}

// of completes a way for the CSV file. The place of a row among the training rows is the number of
// training rows before it in the file.
func (l lines) of(w way) way {
	w.rows = len(l.rows)
	w.write = func(t *testing.T, gone int) {
		if gone < 0 {
			l.write(t, l.rows)
			return
		}
		l.write(t, slices.Delete(slices.Clone(l.rows), gone, gone+1))
	}
	w.place = func(t *testing.T, rows int) int {
		const enough = 100 // enough rows for a test set
		from := len(l.rows) - rows
		if rows > enough {
			before := w
			before.write = func(t *testing.T, _ int) { l.write(t, l.rows[:rows]) }
			return before.open(t, 0).Len()
		}
		after, all := w, w.open(t, -1).Len()
		after.write = func(t *testing.T, _ int) { l.write(t, l.rows[len(l.rows)-from:]) }
		return all - after.open(t, 0).Len()
	}
	return w
}

// csvFile is a table with a column of labels.
func csvFile(t *testing.T) way {
	l := lines{file: filepath.Join(t.TempDir(), "patients.csv"), head: "a,diagnosis,b"}
	random := rand.New(rand.NewPCG(3, 3))
	for range 570 {
		l.rows = append(l.rows, fmt.Sprintf("%d,%s,%d", random.IntN(1000), []string{"ill", "well"}[random.IntN(2)],
			random.IntN(1000)))
	}
	l.write(t, l.rows)
	data, err := preset.Source{Path: l.file, Label: "diagnosis"}.Read()
	require.NoError(t, err)
	return l.of(way{params: fitted(t, "pixels", 456, &data), home: func(w *home.WorkerConfig) { w.Data = l.file }})
}

// study is the trainer of a template with the CSV file beside it.
func study(name string) func(t *testing.T) way {
	return func(t *testing.T) way {
		python := ""
		for _, path := range []string{"python3", "/usr/bin/python3"} {
			if exec.Command(path, "-c", "import numpy").Run() == nil {
				python = path
			}
		}
		if python == "" {
			t.Skip("no python3 has numpy: on Debian, apt-get install python3-numpy")
		}
		dir := filepath.Join(t.TempDir(), "study")
		at := slices.IndexFunc(templates.All(), func(x templates.Template) bool { return x.Name == name })
		p, err := templates.All()[at].Write(dir, templates.Options{Validators: 2, Python: python})
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(dir, "data.csv"))
		require.NoError(t, err)
		head, rows, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		l := lines{file: filepath.Join(dir, "data.csv"), head: head, rows: strings.Split(rows, "\n")}
		return l.of(way{params: p, home: func(w *home.WorkerConfig) {
			w.Trainer, w.TrainerDir = []string{python, filepath.Join(dir, "train.py")}, dir
		}})
	}
}
