package gain

import (
	"fmt"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// Warning says that test rows of a file trained a model, or may have. own is the file on which the owner's home trains,
// "" where it is not known. It is "" if all test rows are test rows of own. Rows are compared by what the model reads of
// them, whatever the order of the columns is, or their number, which deals the rows of a file out anew.
func Warning(path, own string, m params.Model) (string, error) {
	if own == "" {
		return "rows of this file may have trained the model, and the measures may be too good: name the home by --home, which " +
			"knows its training rows, and measure on its file as it is", nil
	}
	mine, err := home.LoadData(own, m)
	if err != nil {
		return "", err
	}
	file, err := home.LoadData(path, m)
	if err != nil {
		return "", err
	}
	tested, trained := count(mine.Test), count(mine.Train)
	both, other := 0, 0
	for i := range file.Test.Len() {
		switch row := key(file.Test, i); {
		case tested[row] > 0:
			tested[row]--
		case trained[row] > 0:
			trained[row]--
			both++
		default:
			other++
		}
	}
	if both+other == 0 {
		return "", nil
	}
	return fmt.Sprintf("%d of %d test rows trained this model, as training rows of %s; %d it does not have, and they may have "+
		"trained the model elsewhere: the measures may be too good, leave --data out to measure on the home's own file", both,
		file.Test.Len(), own, other), nil
}

// key returns what a model reads of a row.
func key(s mnist.Set, i int) string { return string(append([]byte{s.Labels[i]}, s.Image(i)...)) }

func count(s mnist.Set) map[string]int {
	rows := map[string]int{}
	for i := range s.Len() {
		rows[key(s, i)]++
	}
	return rows
}
