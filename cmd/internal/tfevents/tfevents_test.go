package tfevents

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestKnownBytes: a file begins as each of TensorFlow's begins whose first event has 24 bytes, and a
// masked sum is that of the check value of CRC32C, e3069283.
func TestKnownBytes(t *testing.T) {
	var out bytes.Buffer
	_, err := New(&out, time.Unix(1600000000, 0))
	require.NoError(t, err)
	require.Equal(t, "1800000000000000"+"a37f4b22"+"09"+"0000000084d7d741"+"1a0d"+
		hex.EncodeToString([]byte("brain.Event:2")),
		hex.EncodeToString(out.Bytes()[:12+24]))
	sum := uint32(0xe3069283)
	require.Equal(t, (sum>>15|sum<<17)+0xa282ead8, masked([]byte("123456789")))
}

// event is what the test's own reader finds.
type event struct {
	at      float64
	step    uint64
	version string
	values  map[string]float32
}

// slow is CRC32C bit by bit, of the reflected polynomial, as in RFC 3720.
func slow(data []byte) uint32 {
	sum := ^uint32(0)
	for _, b := range data {
		sum ^= uint32(b)
		for range 8 {
			sum = sum>>1 ^ 0x82f63b78*(sum&1)
		}
	}
	return ^sum
}

// read reads a file with no code of the writer's.
func read(t *testing.T, data []byte) (out []event) {
	t.Helper()
	check := func(part, sum []byte) {
		want := binary.LittleEndian.Uint32(sum) - 0xa282ead8
		require.Equal(t, want>>17|want<<15, slow(part))
	}
	fields := func(m []byte, each func(protowire.Number, []byte, uint64)) {
		for len(m) > 0 {
			number, kind, n := protowire.ConsumeTag(m)
			require.Positive(t, n)
			m = m[n:]
			size := protowire.ConsumeFieldValue(number, kind, m)
			require.Positive(t, size)
			switch kind {
			case protowire.BytesType:
				b, _ := protowire.ConsumeBytes(m)
				each(number, b, 0)
			case protowire.VarintType:
				x, _ := protowire.ConsumeVarint(m)
				each(number, nil, x)
			case protowire.Fixed32Type:
				x, _ := protowire.ConsumeFixed32(m)
				each(number, nil, uint64(x))
			case protowire.Fixed64Type:
				x, _ := protowire.ConsumeFixed64(m)
				each(number, nil, x)
			default:
				t.Fatal("wire type", kind)
			}
			m = m[size:]
		}
	}
	for len(data) > 0 {
		size := binary.LittleEndian.Uint64(data)
		check(data[:8], data[8:12])
		body := data[12 : 12+size]
		check(body, data[12+size:16+size])
		data = data[16+size:]
		e := event{values: map[string]float32{}}
		fields(body, func(n protowire.Number, b []byte, x uint64) {
			switch n {
			case 1:
				e.at = math.Float64frombits(x)
			case 2:
				e.step = x
			case 3:
				e.version = string(b)
			case 5:
				fields(b, func(_ protowire.Number, value []byte, _ uint64) {
					tag := ""
					fields(value, func(n protowire.Number, b []byte, x uint64) {
						if n == 1 {
							tag = string(b)
							return
						}
						e.values[tag] = math.Float32frombits(uint32(x))
					})
				})
			default: // another field of an event
			}
		})
		out = append(out, e)
	}
	return out
}

// TestRead: another reader finds what was written; what is not finite has no event.
func TestRead(t *testing.T) {
	var out bytes.Buffer
	w, err := New(&out, time.Unix(7, 5e8))
	require.NoError(t, err)
	require.NoError(t, w.Scalars(time.Unix(8, 0), 1, []Scalar{{"a", 0.5}, {"b/c", -3}, {"d", math.NaN()}}))
	require.NoError(t, w.Scalars(time.Unix(9, 0), 2, []Scalar{{"d", math.Inf(1)}}))
	require.NoError(t, w.Scalars(time.Unix(10, 0), 1<<40, []Scalar{{"a", 1e-9}}))
	require.Equal(t, []event{
		{at: 7.5, version: "brain.Event:2", values: map[string]float32{}},
		{at: 8, step: 1, values: map[string]float32{"a": 0.5, "b/c": -3}},
		{at: 10, step: 1 << 40, values: map[string]float32{"a": 1e-9}},
	}, read(t, out.Bytes()))
}
