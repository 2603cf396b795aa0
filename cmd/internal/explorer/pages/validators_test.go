package pages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLateIsNotAbsent: up to three missing votes in a row came late, four are an absence, and nobody
// is absent before it was a validator. Only absence counts against the uptime.
func TestLateIsNotAbsent(t *testing.T) {
	votes := func(text string) (v []bool) {
		for _, x := range text {
			v = append(v, x == '1')
		}
		return v
	}
	for _, c := range []struct {
		text                 string
		new                  bool
		signed, late, absent int
		up                   int
	}{
		{"1111111111", false, 10, 0, 0, 100},
		{"1011001110", false, 6, 4, 0, 100},
		{"1000111111", false, 7, 3, 0, 100},
		{"1100001111", false, 6, 0, 4, 60},
		{"0000001111", false, 4, 0, 6, 40},
		{"0000001111", true, 4, 0, 0, 100},
		{"0000010000", true, 1, 0, 4, 20},
	} {
		l := validatorLine{votes: votes(c.text), New: c.new}
		l.count()
		require.Equal(t, []int{c.signed, c.late, c.absent, c.up}, []int{l.Signed, l.Late, l.Absent, l.Up()}, c.text)
		require.Equal(t, c.up < 80, l.Few(), c.text)
	}
	require.False(t, (&validatorLine{New: true}).Few(), "nothing is known of it")
}
