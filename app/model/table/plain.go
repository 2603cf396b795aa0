package table

import (
	"archive/zip"
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
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
		return f.writeNPZ(out)
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
func (f *file) writeNPZ(out io.Writer) error {
	label, err := f.column("y")
	if err != nil {
		return err
	}
	group, grouped := f.at["groups"]
	var inputs []int
	_, listed := f.at["x[0]"]
	for i, name := range f.header {
		if i != label && !(grouped && i == group) && (!listed || strings.HasPrefix(name, "x[")) {
			inputs = append(inputs, i)
		}
	}
	from, ok := f.reader.(*parquetRows) // a CSV file does not say its rows before its end
	if !ok {
		return fmt.Errorf("%w: %s is no Parquet file", ErrTable, f.name)
	}
	rows, to := from.rows(), zip.NewWriter(out)
	array, err := newArray(to, "x", fmt.Sprintf("<f4', 'shape': (%d, %d)", rows, len(inputs)))
	if err != nil {
		return err
	}
	var labels []int64
	var groups []string
	longest := 1
	x := make([]float32, len(inputs))
	for {
		more, err := f.readRow()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		for k, at := range inputs {
			v, err := f.number(at)
			if err != nil {
				return err
			}
			x[k] = float32(v)
		}
		y, err := strconv.ParseInt(f.row[label], 10, 32)
		if err != nil || y < 0 {
			return f.errorf(label, "want the number of a class, from 0")
		}
		labels = append(labels, y)
		if grouped {
			name, err := f.text(group)
			if err != nil {
				return err
			}
			longest = max(longest, utf8.RuneCountInString(name))
			groups = append(groups, strings.Clone(name))
		}
		if err := binary.Write(array, binary.LittleEndian, x); err != nil {
			return err
		}
	}
	if err = array.Flush(); err != nil {
		return err
	}
	if array, err = newArray(to, "y", fmt.Sprintf("<i8', 'shape': (%d,)", rows)); err != nil {
		return err
	}
	if err := cmp.Or(binary.Write(array, binary.LittleEndian, labels), array.Flush()); err != nil || !grouped {
		return cmp.Or(err, to.Close())
	}
	if array, err = newArray(to, "groups", fmt.Sprintf("<U%d', 'shape': (%d,)", longest, rows)); err != nil {
		return err
	}
	for _, name := range groups {
		text := []rune(name)
		if err := binary.Write(array, binary.LittleEndian, append(text, make([]rune, longest-len(text))...)); err != nil {
			return err
		}
	}
	return cmp.Or(array.Flush(), to.Close())
}

// newArray begins an array of an npz file. about is its type and shape.
func newArray(to *zip.Writer, name, about string) (*bufio.Writer, error) {
	w, err := to.CreateHeader(&zip.FileHeader{Name: name + ".npy"})
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("{'descr': '%s, 'fortran_order': False, }", about)
	const before = 10 // bytes, of the mark, the version and the length
	length := (before+len(text)+1+63)/64*64 - before
	out := bufio.NewWriterSize(w, 1<<16)
	_, err = out.Write(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(length)))
	_, failed := fmt.Fprintf(out, "%-*s\n", length-1, text)
	return out, cmp.Or(err, failed)
}
