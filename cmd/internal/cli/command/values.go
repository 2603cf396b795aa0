package command

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// distance is the max number of edits between a word and a misspelling of it.
const distance = 2

// suggest adds to a UsageError the known values of flags and arguments that are close to a word in
// the error.
func suggest(cmd *cobra.Command, err error) error {
	var usage UsageError
	if !errors.As(err, &usage) {
		return err
	}
	var near []string
	look := func(word string, all []string) {
		if len(word) > distance && len(all) > 0 && !slices.Contains(all, word) && strings.Contains(err.Error(), word) {
			near = append(near, closest(word, all)...)
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
	return meant(err, near, "")
}

// closest returns the words that a word may be a misspelling of, by cobra's measure.
func closest(word string, all []string) []string {
	c := &cobra.Command{SuggestionsMinimumDistance: distance}
	for _, name := range all {
		c.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	near := c.SuggestionsFor(word)
	return near[:min(3, len(near))]
}
