package tx

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// whole decodes a gradient's content without extracting its payload first.
func whole(content []byte) (*Gradient, error) {
	g := new(Gradient)
	return g, decodeCanonical(g, content)
}

// FuzzLift: with and without extraction the same contents are rejected, and the accepted ones give
// the same gradient.
func FuzzLift(f *testing.F) {
	g := Gradient{Epoch: 1, Round: 300, Participant: 2, Payload: bytes.Repeat([]byte{7}, 200), VrfProof: make([]byte, 80)}
	good := mustMarshal(&g)
	f.Add(good)
	f.Add(mustMarshal(&Gradient{Payload: []byte{1}}))
	f.Add(mustMarshal(&Gradient{Epoch: 1}))
	f.Add([]byte{0x22, 0})                            // an explicitly empty payload
	f.Add([]byte{0x22, 0x81, 0, 5})                   // a padded length
	f.Add([]byte{0x22, 1, 5, 0x22, 1, 5})             // the payload twice
	f.Add([]byte{0x2a, 1, 5, 0x22, 1, 5})             // fields out of order
	f.Add([]byte{0xa2, 0, 1, 5})                      // a padded key
	f.Add([]byte{0x22, 1, 5, 0x32, 1, 5})             // an unknown field
	f.Add([]byte{0x22, 1, 5, 0x2a})                   // cut off
	f.Add([]byte{0x20, 1})                            // a number in place of the payload
	f.Add([]byte{0x22, 2, 5})                         // cut off
	f.Add(append([]byte{0x08, 0}, good...))           // an explicit zero
	f.Add(append([]byte{0x08, 0x80, 0}, good[2:]...)) // padded zero
	f.Fuzz(func(t *testing.T, content []byte) {
		want, refused := whole(content)
		got, err := DecodeBody(KindGradient, content)
		require.Equal(t, refused == nil, err == nil, "%v, %v", refused, err)
		if err != nil {
			require.ErrorIs(t, err, unwrap(refused))
			return
		}
		require.Equal(t, mustMarshal(want), mustMarshal(got))
	})
}

// unwrap returns the sentinel of a rejection.
func unwrap(err error) error {
	for _, sentinel := range []error{ErrNotCanonical, ErrMalformed} {
		if bytes.Contains([]byte(err.Error()), []byte(sentinel.Error())) {
			return sentinel
		}
	}
	return err
}
