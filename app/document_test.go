package app_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

// TestDocument: a document that is not the encoding of a state is rejected, and the error says what
// is wrong. Its bytes may come from a peer, and it is decoded before its hash is known.
func TestDocument(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) { p.Training.Momentum = 0.5 })
	out, err := s.Execute(app.Block{Height: 1, Txs: apptest.Close(s, 1)})
	require.NoError(t, err)
	encoded := out.State.Encode()
	_, err = app.DecodeState(1, encoded)
	require.NoError(t, err)
	for want, spoil := range map[string]func(d *app.Document){
		"history of 3 rounds has 1 peaks, want 2": func(d *app.Document) { d.Closed = 3 },
		"history of 1 rounds has 0 peaks, want 1": func(d *app.Document) { d.History = nil },
		"history of 1 rounds has 2 peaks, want 1": func(d *app.Document) { d.History = append(d.History, d.History[0]) },
		"velocity has 7 parameters, want 8":       func(d *app.Document) { d.Velocity = d.Velocity[1:] },
		"velocity has 8 parameters, want 0":       func(d *app.Document) { d.Params.Training.Momentum = 0 },
		"model has 0 parameters, want 8":          func(d *app.Document) { d.Model = nil },
		"election.term is 0":                      func(d *app.Document) { d.Params.Election.Term = 0 },
		"view_blocks 0":                           func(d *app.Document) { d.Params.Election.ViewBlocks = 0 },
		"privacy.cost has 1 and budget 0 entries": func(d *app.Document) {
			d.Params.Privacy.Epsilon, d.Params.Privacy.Delta, d.Params.Privacy.Cost = 1, 1e-6, []uint64{1}
		},
		"privacy.cost[0] is 0": func(d *app.Document) {
			d.Params.Privacy.Epsilon, d.Params.Privacy.Delta = 1, 1e-6
			d.Params.Privacy.Cost, d.Params.Privacy.Budget = make([]uint64, params.LedgerColumns),
				make([]uint64, params.LedgerColumns)
		},
	} {
		var d app.Document
		require.NoError(t, d.Unmarshal(encoded))
		spoil(&d)
		data, err := d.Marshal()
		require.NoError(t, err)
		require.NotPanics(t, func() { _, err = app.DecodeState(1, data) }, want)
		require.ErrorContains(t, err, "stored state: ", want)
		require.ErrorContains(t, err, want)
	}
}

// TestSmallEntries: a list with entries smaller than any valid one, which would take hundreds of
// times their bytes in memory, is rejected before decoding.
func TestSmallEntries(t *testing.T) {
	small := func(field byte, size int) []byte {
		return bytes.Repeat(append([]byte{field<<3 | 2, byte(size)}, make([]byte, size)...), (2<<20)/(2+size))
	}
	length := func(data []byte) []byte { // length of less than 2^21 bytes
		n := len(data)
		return append([]byte{byte(n) | 0x80, byte(n>>7) | 0x80, byte(n >> 14)}, data...)
	}
	for name, data := range map[string][]byte{
		"an entry of field 4 has 0 bytes, want at least 96":  small(4, 0),
		"an entry of field 8 has 1 bytes, want at least 32":  small(8, 1),
		"an entry of field 9 has 31 bytes, want at least 32": small(9, 31),
		"an entry of field 10 has 0 bytes, want at least 32": small(10, 0),
		"an entry of field 11 has 2 bytes, want at least 64": small(11, 2),
		"field 4: an entry of field 13 has 0 bytes, want at least 32": append([]byte{4<<3 | 2},
			length(small(13, 0)[:2<<20-2])...),
		"field 3: an entry of field 9 has 6 bytes, want at least 7": append([]byte{3<<3 | 2},
			length(small(9, 6)[:2<<20-2])...),
		// field 4 with a padded key
		"byte 0 begins no field": append([]byte{0xa2, 0x80, 0x00, 0}, small(4, 0)...),
		"byte 0 begins no field ": append([]byte{0xa2, 0x80, 0x80, 0x80, 0x80, 0x01, 0},
			small(4, 0)...),
		"field 15 is of sort 5": append([]byte{15<<3 | 5, 0, 0, 0, 0}, small(4, 0)...),
		"field 4 is cut off":    {4<<3 | 2, 200, 1, 0},
		"field 7 has no value":  {7 << 3, 0x80},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := app.DecodeState(1, data)
		runtime.ReadMemStats(&after)
		require.ErrorContains(t, err, strings.TrimSpace(name))
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), name)
	}
	_, err := app.DecodeRecord(small(7, 0))
	require.ErrorContains(t, err, "record: an entry of field 7 has 0 bytes, want at least 64")
	for want, list := range map[string][]byte{
		"element 0 of the list has 0 bytes, want at least 32": make([]byte, 2<<20),
		"element 0 of the list has 31 bytes": bytes.Repeat(append([]byte{31},
			make([]byte, 31)...), 1<<16),
		"element 1 of the list has 32 bytes": append(bytes.Repeat([]byte{32}, 34),
			make([]byte, 31)...),
		"element 0 of the list: an entry of field 13 has 0 bytes, want at least 32": length(small(13, 0)[:2<<20-2]),
		"element 0 of the list has 18446744073709551615 bytes":                      append(bytes.Repeat([]byte{255}, 9), 1),
		"a length in the list is not in its shortest form": append([]byte{160, 0},
			make([]byte, 32)...),
	} {
		_, err := app.DecodeParticipants(list)
		require.ErrorContains(t, err, want)
	}
}

// FuzzDecodeState: no document panics its reader, and a decoded state survives another encoding and
// decoding.
func FuzzDecodeState(f *testing.F) {
	s := apptest.State(4, func(p *params.Params) { p.Training.Momentum = 0.5 })
	out, err := s.Execute(app.Block{Height: 1, Txs: apptest.Close(s, 1)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s.Encode())
	f.Add(out.State.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := app.DecodeState(1, data)
		if err != nil {
			return
		}
		again, err := app.DecodeState(1, read.Encode())
		require.NoError(t, err)
		require.Equal(t, read.Hash(), again.Hash())
	})
}
