package table

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// textOf returns what appends the text of a column's value, nil if they have none. A number has its shortest text,
// whatever its type: 3 is that of the decimal 3.00, the float 3 and the integer 3.
func textOf(e format.SchemaElement) func([]byte, parquet.Value) []byte {
	if e.Type == nil {
		return nil
	}
	kind := parquet.Kind(*e.Type)
	l, old := format.LogicalType{}, deprecated.ConvertedType(-1)
	if e.LogicalType != nil {
		l = *e.LogicalType
	}
	if e.ConvertedType != nil {
		old = *e.ConvertedType
	}
	const date, clock = "2006-01-02", " 15:04:05.999999999"
	moment := func(unit int64, layout string) func([]byte, parquet.Value) []byte {
		return func(dst []byte, v parquet.Value) []byte {
			x := integer(v)
			return time.Unix(x/unit, x%unit*(1e9/unit)).UTC().AppendFormat(dst, layout)
		}
	}
	whole := kind == parquet.Int32 || kind == parquet.Int64
	switch {
	case l.Decimal != nil:
		return decimalOf(kind, l.Decimal.Scale)
	case old == deprecated.Decimal && e.Scale != nil:
		return decimalOf(kind, *e.Scale)
	case kind == parquet.Int32 && (l.Date != nil || old == deprecated.Date):
		return func(dst []byte, v parquet.Value) []byte {
			return time.Unix(int64(v.Int32())*86400, 0).UTC().AppendFormat(dst, date)
		}
	case whole && l.Timestamp != nil:
		unit, layout := int64(1e9), date+clock
		switch t := l.Timestamp; {
		case t.Unit.Millis != nil:
			unit = 1e3
		case t.Unit.Micros != nil:
			unit = 1e6
		}
		if l.Timestamp.IsAdjustedToUTC {
			layout += "-07:00"
		}
		return moment(unit, layout)
	case whole && old == deprecated.TimestampMillis:
		return moment(1e3, date+clock)
	case whole && old == deprecated.TimestampMicros:
		return moment(1e6, date+clock)
	case whole && (l.Integer != nil && !l.Integer.IsSigned || old >= deprecated.Uint8 && old <= deprecated.Uint64):
		return func(dst []byte, v parquet.Value) []byte {
			if kind == parquet.Int32 {
				return strconv.AppendUint(dst, uint64(v.Uint32()), 10)
			}
			return strconv.AppendUint(dst, v.Uint64(), 10)
		}
	}
	switch kind {
	case parquet.Boolean:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendBool(dst, v.Boolean()) }
	case parquet.Int32, parquet.Int64:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendInt(dst, integer(v), 10) }
	case parquet.Int96: // days and nanoseconds
		return func(dst []byte, v parquet.Value) []byte {
			x := v.Int96()
			const julian = 2440588 // of 1970-01-01
			at := time.Unix((int64(x[2])-julian)*86400, int64(uint64(x[1])<<32|uint64(x[0])))
			return at.UTC().AppendFormat(dst, date+clock)
		}
	case parquet.Float:
		return func(dst []byte, v parquet.Value) []byte { return appendNumber(dst, float64(v.Float()), 32) }
	case parquet.Double:
		return func(dst []byte, v parquet.Value) []byte { return appendNumber(dst, v.Double(), 64) }
	case parquet.FixedLenByteArray: // a UUID, for one
		return func(dst []byte, v parquet.Value) []byte { return hex.AppendEncode(dst, v.ByteArray()) }
	default: // csv.Reader does the same to line ends
		return func(dst []byte, v parquet.Value) []byte {
			return append(dst, bytes.ReplaceAll(v.ByteArray(), []byte("\r\n"), []byte("\n"))...)
		}
	}
}

func integer(v parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

// appendNumber appends the shortest text that gives the number back, nothing for one that is none: it is missing.
func appendNumber(dst []byte, x float64, bits int) []byte {
	if math.IsNaN(x) {
		return dst
	}
	if size := math.Abs(x); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.AppendFloat(dst, x, 'e', -1, bits)
	}
	return strconv.AppendFloat(dst, x, 'f', -1, bits)
}

// decimalOf appends whole numbers, bytes in two's complement for one, over ten to the power of scale.
func decimalOf(kind parquet.Kind, scale int32) func([]byte, parquet.Value) []byte {
	if scale < 0 || scale > 1<<10 {
		return nil
	}
	over := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	return func(dst []byte, v parquet.Value) []byte {
		x := new(big.Int)
		if kind == parquet.Int32 || kind == parquet.Int64 {
			x.SetInt64(integer(v))
		} else if content := v.ByteArray(); x.SetBytes(content).Sign() > 0 && content[0] > math.MaxInt8 {
			x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(content))))
		}
		text := new(big.Rat).SetFrac(x, over).FloatString(int(scale))
		if scale > 0 {
			text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		return append(dst, text...)
	}
}
