package table

import "strings"

// groupNumbers numbers the groups of a file from 0, in the order of their first rows. nil is of a file without groups.
type groupNumbers struct {
	column  int               // the index of the column with the groups' names
	numbers map[string]uint32 // the number of each group, by its name
}

// groupNumbers returns groupNumbers without entries for the named column, nil if the name is empty.
func (f *file) groupNumbers(column string) (*groupNumbers, error) {
	if column == "" {
		return nil, nil
	}
	at, err := f.column(column)
	return &groupNumbers{column: at, numbers: map[string]uint32{}}, err
}

// numberOf returns the number of the current row's group. A new group gets the next number. The
// number is 0 if the file has no groups, and if the row names none, which is a fault.
func (n *groupNumbers) numberOf(f *file) uint32 {
	if n == nil {
		return 0
	}
	name, err := f.text(n.column)
	if err != nil {
		f.note(n.column, err)
		return 0
	}
	number, known := n.numbers[name]
	if !known {
		number = uint32(len(n.numbers))
		n.numbers[strings.Clone(name)] = number // not the whole row
	}
	return number
}

// units returns the number of groups in the rows read so far, and of these rows in a file without groups.
func (n *groupNumbers) units(f *file) int {
	if n == nil {
		return f.rows
	}
	return len(n.numbers)
}
