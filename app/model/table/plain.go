package table

import (
	"archive/zip"
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Plain writes the rows of a Parquet file to a file in a folder, for a program that reads no Parquet, and returns its
// path. like is the name of another file that the program reads: if it ends in .npz, so does the new one. If it has no
// ending and the rows have a list x, the file is an npz too, and otherwise a CSV file. Where like ends in .parquet, and
// for any other file than Parquet, Plain returns path.
func Plain(path, folder, like string) (string, error) {
	if !IsParquet(path) || filepath.Ext(like) == ".parquet" {
		return path, nil
	}
	f, err := stream(path)
	if err != nil {
		return "", err
	}
	f.close()
	ending := ".csv"
	if _, listed := f.at["x[0]"]; filepath.Ext(like) == npz || like == "" && listed {
		ending = npz
	}
	to := filepath.Join(folder, strings.TrimSuffix(f.name, filepath.Ext(f.name))+ending)
	return to, Write(path, to)
}

const npz = ".npz"

// Write writes the rows of a file to a new file, which its owner alone may read: the arrays x, y and perhaps groups if
// its name ends in .npz, and otherwise CSV.
func Write(path, to string) (err error) {
	f, err := stream(path)
	if err != nil {
		return err
	}
	defer f.close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = cmp.Or(err, out.Close()); err != nil {
			_ = os.Remove(to)
		}
	}()
	if filepath.Ext(to) == npz {
		return writeNPZ(path, out)
	}
	rows := csv.NewWriter(out)
	err = rows.Write(f.header)
	for more := true; more && err == nil; {
		if more, err = f.readRow(); more {
			err = rows.Write(f.row)
		}
	}
	rows.Flush()
	return cmp.Or(err, rows.Error())
}

// IsParquet reports whether there is a file that begins as a Parquet file does.
func IsParquet(path string) bool {
	in, err := os.Open(path)
	if err != nil {
		return false
	}
	defer in.Close()
	mark := make([]byte, len(parquetMark))
	_, err = io.ReadFull(in, mark)
	return err == nil && string(mark) == parquetMark
}

// writeNPZ writes the arrays of features: x from the list x, or without one from all columns but y and groups.
func writeNPZ(path string, out io.Writer) error {
	to := zip.NewWriter(out)
	for _, name := range []string{"x", "y", "groups"} {
		if err := writeArray(path, name, to); err != nil {
			return err
		}
	}
	return to.Close()
}

// writeArray writes an array of an npz file, in a pass over the file's rows. A file without groups has no such array.
func writeArray(path, name string, to *zip.Writer) error {
	const mostGroup = 64 // characters
	f, err := stream(path)
	if err != nil {
		return err
	}
	defer f.close()
	from, ok := f.reader.(*parquetRows)
	if !ok { // it does not say its rows before its end
		return fmt.Errorf("%w: %s is no Parquet file", ErrTable, f.name)
	}
	var columns []int
	_, listed := f.at["x[0]"]
	for i, column := range f.header {
		input := column != "y" && column != "groups" && (!listed || strings.HasPrefix(column, "x["))
		if column == name || name == "x" && input {
			columns = append(columns, i)
		}
	}
	if len(columns) == 0 && name != "groups" {
		_, err = f.column(name)
	}
	if err != nil || len(columns) == 0 {
		return err
	}
	of := map[string]string{"x": fmt.Sprintf("'<f4', 'shape': (%d, %d)", from.rows(), len(columns)),
		"y":      fmt.Sprintf("'<i8', 'shape': (%d,)", from.rows()),
		"groups": fmt.Sprintf("'<U%d', 'shape': (%d,)", mostGroup, from.rows())}[name]
	w, err := to.CreateHeader(&zip.FileHeader{Name: name + ".npy"})
	if err != nil {
		return err
	}
	rows := bufio.NewWriterSize(w, 1<<16)
	_, err = fmt.Fprintf(rows, "\x93NUMPY\x01\x00\x76\x00%-117s\n", "{'descr': "+of+", 'fortran_order': False, }")
	var row []byte
	for more := true; more && err == nil; {
		if more, err = f.readRow(); !more || err != nil {
			break
		}
		row = row[:0]
		for _, at := range columns {
			switch text := f.row[at]; name {
			case "x":
				var v float64
				if v, err = f.number(at); err != nil {
					return err
				}
				row = binary.LittleEndian.AppendUint32(row, math.Float32bits(float32(v)))
			case "y":
				y, err := strconv.ParseUint(text, 10, 31)
				if err != nil {
					return f.errorf(at, "want the number of a class, from 0")
				}
				row = binary.LittleEndian.AppendUint64(row, y)
			default:
				group := []rune(text)
				if len(group) == 0 || len(group) > mostGroup {
					return f.errorf(at, "want the name of a group, of at most %d characters", mostGroup)
				}
				for _, r := range group {
					row = binary.LittleEndian.AppendUint32(row, uint32(r))
				}
				row = append(row, make([]byte, 4*(mostGroup-len(group)))...)
			}
		}
		_, err = rows.Write(row)
	}
	return cmp.Or(err, rows.Flush())
}
