// Package experiment reproduces the paper's figures and the project's own, one
// file a figure. An experiment is a list of cells, each a function of its
// specification; finished cells are kept in DIR/cells and not computed again. From
// the cells come NAME.csv, NAME.svg and NAME.png, each with the command, the seeds
// and the version that made it inside, and NAME.json for the report.
//
// Schemes as in the paper: PURE is the mean without noise, DP the mean with
// noise, SPDL a resilient rule with noise.
package experiment
