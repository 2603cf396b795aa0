package table

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// textOf returns what appends the text of a value of a type, nil if the type has none. A number has its shortest text,
// whatever its type: 3 is that of the decimal 3.00, the float 3 and the integer 3.
func textOf(e format.SchemaElement) func([]byte, parquet.Value) []byte {
	l, old := format.LogicalType{}, deprecated.ConvertedType(-1)
	if e.LogicalType != nil {
		l = *e.LogicalType
	}
	if e.ConvertedType != nil {
		old = *e.ConvertedType
	}
	if e.Type == nil {
		return nil
	}
	const date, clock = "2006-01-02", "15:04:05.999999999"
	kind := parquet.Kind(*e.Type)
	if kind == parquet.FixedLenByteArray && (e.TypeLength == nil || *e.TypeLength < 1 || *e.TypeLength > 1<<10) {
		return nil
	}
	whole := kind == parquet.Int32 || kind == parquet.Int64
	moment := func(unit int64, layout string) func([]byte, parquet.Value) []byte {
		if !whole {
			return nil
		}
		return func(dst []byte, v parquet.Value) []byte {
			x := integer(v)
			return time.Unix(x/unit, x%unit*(1e9/unit)).UTC().AppendFormat(dst, layout)
		}
	}
	switch {
	case l.Decimal != nil:
		return decimalOf(kind, l.Decimal.Scale)
	case old == deprecated.Decimal && e.Scale != nil:
		return decimalOf(kind, *e.Scale)
	case (l.Date != nil || old == deprecated.Date) && kind == parquet.Int32:
		return func(dst []byte, v parquet.Value) []byte {
			return time.Unix(int64(v.Int32())*86400, 0).UTC().AppendFormat(dst, date)
		}
	case l.Time != nil:
		return moment(perSecond(l.Time.Unit), clock)
	case l.Timestamp != nil && l.Timestamp.IsAdjustedToUTC:
		return moment(perSecond(l.Timestamp.Unit), date+" "+clock+"-07:00")
	case l.Timestamp != nil:
		return moment(perSecond(l.Timestamp.Unit), date+" "+clock)
	case old == deprecated.TimeMillis:
		return moment(1e3, clock)
	case old == deprecated.TimeMicros:
		return moment(1e6, clock)
	case old == deprecated.TimestampMillis:
		return moment(1e3, date+" "+clock)
	case old == deprecated.TimestampMicros:
		return moment(1e6, date+" "+clock)
	case l.UUID != nil && kind == parquet.FixedLenByteArray && *e.TypeLength == 16:
		return func(dst []byte, v parquet.Value) []byte {
			x := hex.EncodeToString(v.ByteArray())
			return append(dst, strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")...)
		}
	case whole && (l.Integer != nil && !l.Integer.IsSigned || old >= deprecated.Uint8 && old <= deprecated.Uint64):
		return func(dst []byte, v parquet.Value) []byte {
			if v.Kind() == parquet.Int32 {
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
			return at.UTC().AppendFormat(dst, date+" "+clock)
		}
	case parquet.Float:
		return func(dst []byte, v parquet.Value) []byte { return appendNumber(dst, float64(v.Float()), 32) }
	case parquet.Double:
		return func(dst []byte, v parquet.Value) []byte { return appendNumber(dst, v.Double(), 64) }
	case parquet.ByteArray: // csv.Reader does the same to line ends
		return func(dst []byte, v parquet.Value) []byte {
			return append(dst, bytes.ReplaceAll(v.ByteArray(), []byte("\r\n"), []byte("\n"))...)
		}
	}
	return nil
}

// typeOf returns the type of what is stored.
func typeOf(e format.SchemaElement) parquet.Type {
	switch parquet.Kind(*e.Type) {
	case parquet.Boolean:
		return parquet.BooleanType
	case parquet.Int32:
		return parquet.Int32Type
	case parquet.Int64:
		return parquet.Int64Type
	case parquet.Int96:
		return parquet.Int96Type
	case parquet.Float:
		return parquet.FloatType
	case parquet.Double:
		return parquet.DoubleType
	case parquet.FixedLenByteArray:
		return parquet.FixedLenByteArrayType(int(*e.TypeLength))
	default:
		return parquet.ByteArrayType
	}
}

// typeName names a column's type for an error.
func typeName(e format.SchemaElement) string {
	if e.LogicalType != nil {
		return e.LogicalType.String()
	}
	if e.Type == nil {
		return "none"
	}
	return fmt.Sprint(*e.Type)
}

func integer(v parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

func perSecond(u format.TimeUnit) int64 {
	switch {
	case u.Millis != nil:
		return 1e3
	case u.Micros != nil:
		return 1e6
	}
	return 1e9
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

// decimalOf appends whole numbers as they are over ten to the power of scale.
func decimalOf(kind parquet.Kind, scale int32) func([]byte, parquet.Value) []byte {
	if scale < 0 || scale > 1<<10 {
		return nil
	}
	return func(dst []byte, v parquet.Value) []byte {
		x := new(big.Int)
		switch kind {
		case parquet.Int32, parquet.Int64:
			x.SetInt64(integer(v))
		default: // big-endian, in two's complement
			content := v.ByteArray()
			if x.SetBytes(content); len(content) > 0 && content[0] > math.MaxInt8 {
				x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(content))))
			}
		}
		if x.Sign() < 0 {
			dst = append(dst, '-')
		}
		digits := fmt.Sprintf("%0*s", int(scale)+1, x.Abs(x).String())
		dst = append(dst, digits[:len(digits)-int(scale)]...)
		if fraction := strings.TrimRight(digits[len(digits)-int(scale):], "0"); fraction != "" {
			dst = append(append(dst, '.'), fraction...)
		}
		return dst
	}
}
