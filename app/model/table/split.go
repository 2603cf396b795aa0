package table

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Part is a file with some of another file's rows.
type Part struct {
	Name string `json:"name"` // the text that its rows have in the column, or its number
	Path string `json:"path"`
	Rows int    `json:"rows"`

	file *os.File
	csv  *csv.Writer
}

// plainName matches the names of sites that their files have too.
var plainName = regexp.MustCompile(`^[\w-]{1,40}$`)

// Split writes the rows of a file to a file in a folder for each text of a column, of which there are at most
// most. Without a column it deals them into that many parts by a hash, whole groups each. A row stays on its
// side: of training, or of testing.
func Split(path, column, group, folder string, most int) (parts []*Part, err error) {
	f, err := stream(path)
	if err != nil {
		return nil, err
	}
	defer f.close()
	at := -1
	if key := cmp.Or(column, group); key != "" {
		if at, err = f.column(key); err != nil {
			return nil, err
		}
	}
	defer func() {
		slices.SortFunc(parts, func(a, b *Part) int { return strings.Compare(a.Name, b.Name) })
		for i, p := range parts {
			p.csv.Flush()
			file := fmt.Sprintf("site%d", i)
			if column != "" && plainName.MatchString(p.Name) {
				file += "-" + p.Name
			}
			read := p.Path
			p.Path = filepath.Join(folder, file+".csv")
			err = cmp.Or(err, p.csv.Error(), p.file.Close(), os.Rename(read, p.Path))
		}
	}()
	by := map[string]*Part{}
	for {
		more, err := f.readRow()
		if err != nil || !more {
			return parts, err
		}
		name := strings.Join(f.row, "\x00")
		if at >= 0 {
			if name, err = f.text(at); err != nil {
				return parts, err
			}
		}
		if column == "" {
			hash := sha256.Sum256([]byte("spdl/part/v1" + name))
			name = strconv.FormatUint(binary.BigEndian.Uint64(hash[:])%uint64(most), 10)
		}
		p := by[name]
		if p == nil {
			if len(parts) == most {
				return parts, fmt.Errorf("%w: column %q of %s has more than %d different texts, want one for each member", ErrTable,
					column, f.name, most)
			}
			if p, err = f.newPart(name, filepath.Join(folder, fmt.Sprintf("part%d.csv", len(parts)))); err != nil {
				return parts, err
			}
			by[p.Name], parts = p, append(parts, p)
		}
		p.Rows++
		if err := p.csv.Write(f.row); err != nil {
			return parts, err
		}
	}
}

// Join writes the rows of several files to one, and returns a part for each, named by its file without the ending. The
// files may differ in their separators and in the order of their columns. Unless all have commas between the values,
// the result has semicolons there, so that decimal commas stay.
func Join(paths []string, to string) (parts []*Part, err error) {
	files, all := make([]*file, len(paths)), &csv.Writer{}
	for i, path := range paths {
		if files[i], err = stream(path); err != nil {
			return nil, err
		}
		defer files[i].close()
		p := &Part{Name: strings.TrimSuffix(files[i].name, filepath.Ext(path)), Path: path}
		if k := slices.IndexFunc(parts, func(q *Part) bool { return q.Name == p.Name }); k >= 0 {
			return nil, fmt.Errorf("%w: %s and %s, want a name of its own for each site: rename one", ErrTable, paths[k], path)
		}
		for _, x := range [][2]*file{{files[0], files[i]}, {files[i], files[0]}} {
			for _, name := range x[0].header {
				if _, err := x[1].column(name); err != nil {
					return nil, fmt.Errorf("%w; %s has it: want the same columns in all files", err, x[0].name)
				}
			}
		}
		parts = append(parts, p)
	}
	out, err := create(to)
	if err != nil {
		return nil, err
	}
	defer func() { all.Flush(); err = cmp.Or(err, all.Error(), out.Close()) }()
	if all = csv.NewWriter(out); slices.ContainsFunc(files, func(f *file) bool { return f.comma != ',' }) {
		all.Comma = ';'
	}
	row := slices.Clone(files[0].header)
	err = all.Write(row)
	for i, f := range files {
		for more := true; more && err == nil; {
			if more, err = f.readRow(); more {
				for k, name := range files[0].header {
					row[k] = f.row[f.at[name]]
				}
				parts[i].Rows++
				err = all.Write(row)
			}
		}
	}
	return parts, err
}

// create makes a file that its owner alone may read.
func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

// newPart makes a part's file with the header of f.
func (f *file) newPart(name, path string) (*Part, error) {
	to, err := create(path)
	if err != nil {
		return nil, err
	}
	p := &Part{Name: strings.Clone(name), Path: path, file: to, csv: csv.NewWriter(to)}
	p.csv.Comma = f.comma
	return p, p.csv.Write(f.header)
}

// WriteCSV writes the rows of a file to a new CSV file, which its owner alone may read: for programs that read no
// Parquet.
func WriteCSV(path, to string) (err error) {
	f, err := stream(path)
	if err != nil {
		return err
	}
	defer f.close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	rows := csv.NewWriter(out)
	err = rows.Write(f.header)
	for more := true; more && err == nil; {
		if more, err = f.readRow(); more {
			err = rows.Write(f.row)
		}
	}
	rows.Flush()
	if err = cmp.Or(err, rows.Error(), out.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}

// IsParquet reports whether there is a regular file that begins as a Parquet file does. A pipe would wait.
func IsParquet(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	in, err := os.Open(path)
	if err != nil {
		return false
	}
	defer in.Close()
	mark, _ := bufio.NewReader(in).Peek(len(parquetMark))
	return string(mark) == parquetMark
}
