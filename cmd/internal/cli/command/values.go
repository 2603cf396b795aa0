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

// known is the annotation of a flag that holds its known values.
const known = "spdl_values"

// Values registers the known values of a flag, or of its elements: completion offers them, and an
// error about another value suggests the closest.
func Values(cmd *cobra.Command, flag string, all ...string) { values(cmd, cmd.Flags(), flag, all...) }

func values(cmd *cobra.Command, flags *pflag.FlagSet, flag string, all ...string) {
	_ = flags.SetAnnotation(flag, known, all) // both fail only for a flag that does not exist, which the tests look for
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string,
		cobra.ShellCompDirective) {
		list := ""
		if strings.HasSuffix(flags.Lookup(flag).Value.Type(), "Slice") {
			list = typed[:strings.LastIndex(typed, ",")+1]
		}
		offered := make([]string, len(all))
		for i, value := range all {
			offered[i] = list + value
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	})
}

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
		if f.Changed {
			for _, word := range strings.Split(strings.Trim(f.Value.String(), "[]"), ",") {
				look(word, f.Annotations[known])
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
