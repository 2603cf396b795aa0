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
			file := fmt.Sprintf("site%d", i)
			if column != "" && plainName.MatchString(p.Name) {
				file += "-" + p.Name
			}
			read := p.Path
			p.Path = filepath.Join(folder, file+".csv")
			err = cmp.Or(err, p.close(), os.Rename(read, p.Path))
		}
	}()
	by := map[string]*Part{}
	err = f.each(f.header, func(row []string) error {
		name := strings.Join(row, "\x00")
		if at >= 0 {
			if name, err = f.text(at); err != nil {
				return err
			}
		}
		if column == "" {
			hash := sha256.Sum256([]byte("spdl/part/v1" + name))
			name = strconv.FormatUint(binary.BigEndian.Uint64(hash[:])%uint64(most), 10)
		}
		p := by[name]
		if p == nil {
			if len(parts) == most {
				return fmt.Errorf("%w: column %q of %s has more than %d different texts, want one for each member", ErrTable,
					column, f.name, most)
			}
			if p, err = newPart(name, filepath.Join(folder, fmt.Sprintf("part%d.csv", len(parts))), f.header,
				f.comma); err != nil {
				return err
			}
			by[p.Name], parts = p, append(parts, p)
		}
		return p.write(row)
	})
	return parts, err
}

// Join writes the rows of several files to one, in the columns that all have, and returns a part for each, named by its
// file without the ending. A file of more columns gets a copy without them in a folder: there a row has the side that
// it has in the file of all. The files may differ in their separators and in the order of their columns. Unless all
// have commas between the values, the result has semicolons there, so that decimal commas stay.
func Join(paths []string, to, folder string) (parts []*Part, err error) {
	files, owners, comma := make([]*file, len(paths)), map[string]int{}, ','
	for i, path := range paths {
		if files[i], err = stream(path); err != nil {
			return nil, err
		}
		defer files[i].close()
		p := &Part{Name: strings.TrimSuffix(files[i].name, filepath.Ext(path)), Path: path}
		if k := slices.IndexFunc(parts, func(q *Part) bool { return q.Name == p.Name }); k >= 0 {
			return nil, fmt.Errorf("%w: %s and %s, want a name of its own for each site: rename one", ErrTable, paths[k], path)
		}
		parts = append(parts, p)
		for _, name := range files[i].header {
			owners[name]++
		}
		if files[i].comma != ',' {
			comma = ';'
		}
	}
	shared := slices.DeleteFunc(slices.Clone(files[0].header), func(name string) bool { return owners[name] < len(files) })
	all, err := newPart("", to, shared, comma)
	for i := 0; i < len(files) && err == nil; i++ {
		f, p := files[i], parts[i]
		if len(f.header) > len(shared) {
			p, err = newPart(p.Name, filepath.Join(folder, p.Name+".csv"), shared, f.comma)
		}
		if parts[i] = p; err == nil {
			err = cmp.Or(f.each(shared, func(row []string) error { return cmp.Or(p.write(row), all.write(row)) }), p.close())
		}
	}
	return parts, cmp.Or(err, all.close())
}

// each calls do with the named columns of each row.
func (f *file) each(columns []string, do func(row []string) error) error {
	row := make([]string, len(columns))
	for {
		if more, err := f.readRow(); err != nil || !more {
			return err
		}
		for i, name := range columns {
			row[i] = f.row[f.at[name]]
		}
		if err := do(row); err != nil {
			return err
		}
	}
}

// newPart makes a part with a new file, which its owner alone may read.
func newPart(name, path string, columns []string, comma rune) (*Part, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	p := &Part{Name: strings.Clone(name), Path: path, file: to, csv: csv.NewWriter(to)}
	p.csv.Comma = comma
	return p, p.csv.Write(columns)
}

// write counts a row, and writes it to the part's file, if it has one of its own.
func (p *Part) write(row []string) error {
	p.Rows++
	if p.csv == nil {
		return nil
	}
	return p.csv.Write(row)
}

// close ends the part's file.
func (p *Part) close() error {
	if p == nil || p.csv == nil {
		return nil
	}
	p.csv.Flush()
	return cmp.Or(p.csv.Error(), p.file.Close())
}

// WriteCSV writes the rows of a file to a new CSV file, which its owner alone may read: for programs that read no
// Parquet.
func WriteCSV(path, to string) error {
	f, err := stream(path)
	if err != nil {
		return err
	}
	defer f.close()
	p, err := newPart("", to, f.header, ',')
	if err != nil {
		return err
	}
	if err = cmp.Or(f.each(f.header, p.write), p.close()); err != nil {
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
