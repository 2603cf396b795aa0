package consent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Log is the file of a home's records, one line of JSON for each. It is safe for concurrent use.
type Log struct {
	path string

	mu       sync.Mutex
	fileInfo fs.FileInfo // the file's properties at the last reading; nil if the file did not exist
	isRead   bool
	records  []Record
	err      error // the error of the last reading
}

// Open returns the Log of a file. The file need not exist.
func Open(path string) *Log { return &Log{path: path} }

// Records returns all records of the file, oldest first, and verifies their signatures. It reads the file again only if
// the file has changed. One bad line is an error (ErrRecord), because the line may be a withdrawal.
func (l *Log) Records() ([]Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := os.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.fileInfo, l.isRead, l.records, l.err = nil, true, nil, nil
	case err != nil:
		return nil, err
	case !l.isRead || l.fileInfo == nil || !os.SameFile(info, l.fileInfo) || info.ModTime() != l.fileInfo.ModTime() ||
		info.Size() != l.fileInfo.Size():
		l.records, l.err = readRecords(l.path)
		l.fileInfo, l.isRead = info, true
	}
	return l.records, l.err
}

func readRecords(path string) (all []Record, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var r Record
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err = dec.Decode(&r); err != nil {
			err = fmt.Errorf("%w: %w", ErrRecord, err)
		} else {
			err = r.verify()
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w; remove the line, and decide again", path, n, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// Add appends records to the file and syncs the file to the disk. It fails with ErrRecord if a
// record, or a line of the file, is not valid.
func (l *Log) Add(records ...Record) error {
	if _, err := l.Records(); err != nil {
		return err
	}
	var lines []byte
	for _, r := range records {
		if err := r.verify(); err != nil {
			return err
		}
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	return errors.Join(err, f.Sync(), f.Close())
}
