package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// The journal's file has a line for each entry: the checksum of the entry's JSON in hexadecimal
// digits, a space, and the JSON. The first line is a whole journal, each further line an addition.
// A file may also consist of the JSON of one entry, without a checksum.

// mostJournal is the size in bytes at which the file is rewritten with a single entry. An entry of the paper's model
// has 105 kB, so the file is then rewritten every 40 rounds. A rewrite syncs the new file and its folder.
const mostJournal = 4 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// prefix is the number of bytes before a line's JSON: the checksum and a space.
const prefix = 9

// line returns an entry's line in the file.
func (e entry) line() ([]byte, error) {
	line := bytes.NewBuffer(make([]byte, prefix, prefix+e.size()))
	if err := json.NewEncoder(line).Encode(e); err != nil { // the encoder's newline ends the line
		return nil, err
	}
	text := line.Bytes()[prefix:]
	copy(line.Bytes(), checksum(text[:len(text)-1]))
	return line.Bytes(), nil
}

// size estimates the length of the entry's JSON. For a long entry the estimate is an upper bound.
func (e entry) size() int {
	n := 1024
	if e.Gradient != nil {
		n += len(e.Gradient.Raw)
	}
	if e.Mechanism != nil {
		n += len(e.Mechanism.Momentum)
	}
	for _, s := range e.Aggregates {
		n += len(s.Raw)
	}
	return n + n/2
}

// checksum returns the checksum of a line's JSON, and a space.
func checksum(text []byte) string { return fmt.Sprintf("%08x ", crc32.Checksum(text, castagnoli)) }

var errChecksum = errors.New("checksum does not match")

// readLine decodes a line without its newline.
func readLine(line []byte) (e entry, err error) {
	if len(line) < prefix {
		return e, fmt.Errorf("%d bytes, want at least %d", len(line), prefix)
	}
	text := line[prefix:]
	if string(line[:prefix]) != checksum(text) {
		return e, errChecksum
	}
	return e, json.Unmarshal(text, &e)
}

// readEntries merges all lines of a file into one entry. isTorn is true if the last line is
// incomplete. A crash cut off such a line before its transaction was sent, so readEntries ignores
// the line. Any other damaged line is an error, because its transaction may have been sent.
func readEntries(data []byte) (all entry, isTorn bool, err error) {
	if bytes.HasPrefix(data, []byte("{")) {
		return all, false, json.Unmarshal(data, &all)
	}
	for n := 0; ; n++ {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		switch {
		case n == 0 && !ended:
			return entry{}, false, errors.New("the first entry is not whole")
		case !ended:
			return all, len(line) > 0, nil
		}
		e, err := readLine(line)
		switch {
		case err != nil:
			return entry{}, false, fmt.Errorf("line %d: %w", n+1, err)
		case n == 0:
			all = e
		default:
			all = all.merge(e)
		}
		data = rest
	}
}

// syncFile syncs the writes to a file to the disk, and syncFolder the renames in a folder. A crash
// of the machine may undo writes and renames that are not synced. Tests replace both functions.
var (
	syncFile   = (*os.File).Sync
	syncFolder = func(folder string) error {
		d, err := os.Open(folder)
		if err != nil {
			return err
		}
		return errors.Join(d.Sync(), d.Close())
	}
)

// save appends the addition to the file, or rewrites the whole file. When it returns nil, the entry
// is on the disk. After a crash during save the file has either this entry or only the earlier
// entries. After a failed write the next save rewrites the whole file.
func (j *Journal) save(merged, added entry) error {
	switch {
	case j.Path == "":
		return nil
	case j.file == nil || j.size >= mostJournal:
		return errors.Join(j.closeFile(), j.begin(merged))
	}
	line, err := added.line()
	if err != nil {
		return err
	}
	if _, err = j.file.Write(line); err == nil {
		err = syncFile(j.file)
	}
	if err != nil {
		return errors.Join(err, j.closeFile())
	}
	j.size += len(line)
	return nil
}

// begunSuffix is the suffix of a journal's new file until that file replaces the old file. Only the
// holder of the lock and NewJournal write the new file. If a process is killed before the
// replacement, the next process overwrites the new file.
const begunSuffix = ".new"

// begin replaces the file by a file with a single entry, and keeps the new file open. After a crash
// the path has either the old file or the whole new file.
func (j *Journal) begin(merged entry) error {
	line, err := merged.line()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(j.Path+begunSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(line); err == nil {
		err = syncFile(f)
	}
	if err == nil {
		err = os.Rename(f.Name(), j.Path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(j.Path))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // removes nothing if the rename succeeded
		return errors.Join(err, f.Close())
	}
	j.file, j.size = f, len(line)
	return nil
}

// Close closes the journal and releases its lock.
func (j *Journal) Close() error {
	err := j.closeFile()
	if j.held != nil {
		err = errors.Join(err, j.held.Close())
		j.held = nil
	}
	return err
}

// closeFile closes the file. The next entry then begins a new file.
func (j *Journal) closeFile() error {
	if j.file == nil {
		return nil
	}
	f := j.file
	j.file = nil
	return f.Close()
}
