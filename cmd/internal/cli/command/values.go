package command

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spdl/spdl/internal/spelling"
)

// suggest adds to a UsageError the known values of flags and arguments that are close to a word in
// the error.
func suggest(cmd *cobra.Command, err error) error {
	var usage UsageError
	if !errors.As(err, &usage) {
		return err
	}
	look := func(word string, all []string) {
		if len(word) > spelling.Distance && len(all) > 0 && !slices.Contains(all, word) &&
			strings.Contains(err.Error(), word) {
			err = meant{err, word, spelling.Closest(word, all)}
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if o, ok := f.Value.(*Option); ok && f.Changed {
			for _, word := range strings.Split(strings.Trim(o.String(), "[]"), ",") {
				look(word, o.known)
			}
		}
	})
	for _, word := range cmd.Flags().Args() {
		look(word, cmd.ValidArgs)
	}
	return err
}
