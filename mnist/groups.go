package mnist

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// GroupsFile is the file that names the groups of a folder's training images, beside their labels.
// A folder without it has no groups.
const GroupsFile = "train-groups.csv"

// DecodeGroups reads the groups of n images: a CSV file with the header "image,group" and one line
// for each image in any order. The image is its index in the IDX files, from 0, and the group is any
// text, for example a patient. Spaces around both are removed, and empty lines are ignored. It returns
// the number of each image's group; groups are numbered from 0 in the order of the lines.
//
// It fails with ErrGroups, which quotes no group: names of groups are private.
func DecodeGroups(text []byte, n int) ([]uint32, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	r.ReuseRecord = true
	image, group, _, err := groupLine(r)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if image != "image" || group != "group" {
		return nil, fmt.Errorf("%w: line 1: the header is not \"image,group\"", ErrGroups)
	}
	groups, lines := make([]uint32, n), make([]int, n) // the line of each image, 0 without one
	numbers := map[string]uint32{}
	for {
		image, group, line, err := groupLine(r)
		if errors.Is(err, io.EOF) {
			return groups, everyImage(lines)
		}
		if err != nil {
			return nil, err
		}
		i, err := strconv.ParseUint(image, 10, 32)
		switch {
		case err != nil || i >= uint64(n):
			return nil, fmt.Errorf("%w: line %d: image %.20q, want the index of one of the %d images, 0 to %d", ErrGroups,
				line, image, n, n-1)
		case lines[i] != 0:
			return nil, fmt.Errorf("%w: line %d: image %d has a group in line %d already", ErrGroups, line, i, lines[i])
		case group == "":
			return nil, fmt.Errorf("%w: line %d: the group of image %d is empty", ErrGroups, line, i)
		}
		number, known := numbers[group]
		if !known {
			number = uint32(len(numbers))
			numbers[strings.Clone(group)] = number
		}
		groups[i], lines[i] = number, line
	}
}

// groupLine returns the two values of the next line, and its number; io.EOF after the last.
func groupLine(r *csv.Reader) (image, group string, line int, err error) {
	record, err := r.Read()
	var parse *csv.ParseError
	switch {
	case errors.As(err, &parse): // its text has positions, and no values
		return "", "", 0, fmt.Errorf("%w: %w", ErrGroups, err)
	case err != nil:
		return "", "", 0, err
	}
	line, _ = r.FieldPos(0)
	if len(record) != 2 {
		return "", "", 0, fmt.Errorf("%w: line %d: %d values, want an image and a group", ErrGroups, line, len(record))
	}
	return strings.TrimSpace(record[0]), strings.TrimSpace(record[1]), line, nil
}

// everyImage returns an error if an image has no line.
func everyImage(lines []int) error {
	first, missing := slices.Index(lines, 0), 0
	for _, line := range lines {
		if line == 0 {
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of %d images have no line, the first of them is image %d", ErrGroups, missing, len(lines),
		first)
}

// loadGroups reads the groups of the n training images of a folder, nil if it names none.
func loadGroups(dir string, n int) ([]uint32, error) {
	path := filepath.Join(dir, GroupsFile)
	text, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	groups, err := DecodeGroups(text, n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return groups, nil
}
