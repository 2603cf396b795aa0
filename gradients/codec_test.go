package gradients

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEncodeIsTheDocumentedPayload(t *testing.T) {
	require.Equal(t, []byte{0, 1, 0xff, 0x7f, 0x81}, FromInt8([]int8{0, 1, -1, 127, -127}).Encode())
	require.Equal(t, []byte{1, 0, 0xff, 0xff, 0xff, 0x3f, 0x01, 0xc0}, FromInt16([]int16{1, -1, 16383, -16383}).Encode())
	require.Equal(t, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		Fraction{Num: []int64{1, -2}, Den: 3}.Encode())
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		w       Width
		d       int
		payload []byte
		want    error
		says    string
	}{
		{"width", 3, 1, []byte{1}, ErrWidth, "3 bytes"},
		{"zero width", 0, 0, nil, ErrWidth, "0 bytes"},
		{"short", Int8, 2, []byte{1}, ErrLength, "payload of 1 bytes, want 2"},
		{"long", Int8, 2, []byte{1, 2, 3}, ErrLength, "payload of 3 bytes, want 2"},
		{"odd", Int16, 2, []byte{1, 2, 3}, ErrLength, "payload of 3 bytes, want 4"},
		{"negative d", Int8, -1, nil, ErrLength, "-1 coordinates"},
		{"huge d", Int8, MaxDim + 1, nil, ErrLength, "2097153 coordinates"},
		{"-128", Int8, 2, []byte{1, 0x80}, ErrRange, "coordinate 1 is -128"},
		{"16384", Int16, 2, []byte{1, 0, 0x00, 0x40}, ErrRange, "coordinate 1 is 16384"},
		{"-16384", Int16, 1, []byte{0x00, 0xc0}, ErrRange, "coordinate 0 is -16384"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode(c.w, c.d, c.payload)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestDecodeFractionRefuses(t *testing.T) {
	one := Fraction{Num: []int64{128}}.Encode()
	for _, c := range []struct {
		name    string
		w       Width
		d       int
		den     int64
		payload []byte
		want    error
	}{
		{"width", 9, 1, 1, one, ErrWidth},
		{"zero denominator", Int8, 1, 0, one, ErrDenominator},
		{"negative denominator", Int8, 1, -3, one, ErrDenominator},
		{"huge denominator", Int8, 1, MaxDenominator + 1, one, ErrDenominator},
		{"length", Int8, 1, 2, one[:7], ErrLength},
		{"dimension", Int8, MaxDim + 1, 2, one, ErrLength},
		{"range", Int8, 1, 1, one, ErrRange},
		{"least int64", Int16, 1, MaxDenominator, Fraction{Num: []int64{-1 << 63}}.Encode(), ErrRange},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := DecodeFraction(c.w, c.d, c.den, c.payload)
			require.ErrorIs(t, err, c.want)
		})
	}
	f, err := DecodeFraction(Int8, 1, 2, one)
	require.NoError(t, err)
	require.Equal(t, Fraction{Num: []int64{128}, Den: 2}, f)
}

func FuzzDecodeVector(f *testing.F) {
	f.Add(uint8(1), 2, []byte{1, 0x80})
	f.Add(uint8(2), 1, []byte{0xff, 0x3f})
	f.Add(uint8(1), 5, []byte{0, 1, 0xff, 0x7f, 0x81})
	f.Fuzz(func(t *testing.T, w uint8, d int, payload []byte) {
		v, err := Decode(Width(w), d, payload)
		if err != nil {
			return
		}
		require.Equal(t, d, v.Len())
		for i := range d {
			require.LessOrEqual(t, magnitude(v.At(i)), uint64(v.Width().Max()))
		}
		require.Equal(t, append([]byte{}, payload...), v.Encode(), "the encoding is canonical")
	})
}

func FuzzDecodeFraction(f *testing.F) {
	f.Add(uint8(1), 1, int64(2), Fraction{Num: []int64{254}}.Encode())
	f.Add(uint8(2), 2, int64(1), Fraction{Num: []int64{-16383, -1 << 63}}.Encode())
	f.Fuzz(func(t *testing.T, w uint8, d int, den int64, payload []byte) {
		x, err := DecodeFraction(Width(w), d, den, payload)
		if err != nil {
			return
		}
		require.Len(t, x.Num, d)
		require.Equal(t, append([]byte{}, payload...), x.Encode(), "the encoding is canonical")
		_, ok := x.Within(x, 0)
		require.True(t, ok)
	})
}

// TestDigestIsThatOfTheEncoding: it is made without the encoding as a whole.
func TestDigestIsThatOfTheEncoding(t *testing.T) {
	for _, d := range []int{0, 1, 4095, 4096, 4097, 12288, 50000} {
		f := Fraction{Num: make([]int64, d), Den: 3}
		for i := range f.Num {
			f.Num[i] = int64(i-7) << 33
		}
		require.Equal(t, sha256.Sum256(f.Encode()), f.Digest(), "d=%d", d)
	}
}

// TestDecodeRefusesAllOutsideTheGrid: of all values of 16 bits, at every place of a vector.
func TestDecodeRefusesAllOutsideTheGrid(t *testing.T) {
	for q := -1 << 15; q < 1<<15; q++ {
		payload := []byte{0, 0, 0, 0}
		binary.LittleEndian.PutUint16(payload[2*(q&1):], uint16(q))
		_, err := Decode(Int16, 2, payload)
		require.Equal(t, q < -16383 || q > 16383, errors.Is(err, ErrRange), "%d", q)
	}
}
