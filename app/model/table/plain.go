package table

import (
	"cmp"
	"encoding/csv"
	"io"
	"os"
)

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
