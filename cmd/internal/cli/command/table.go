package command

import "github.com/spf13/cobra"

// TableFlags declares --label and --group, which name two columns of a CSV file with training data, and --schema in
// place of both. more is added to what it says.
func TableFlags(cmd *cobra.Command, label, group, schema *string, more string) {
	Flag(cmd, schema, "schema", "", "JSON file of the table that the members agreed on: columns, bounds, categories, "+
		"classes; in place of --label and --group"+more)
	Flag(cmd, label, "label", "", "column of the labels in the CSV file")
	Flag(cmd, group, "group", "", "column of the CSV file that names the group of a row, as "+
		"patient_id: the unit of privacy is then a group and not an example; a folder of images names its groups in "+
		"train-groups.csv")
}
