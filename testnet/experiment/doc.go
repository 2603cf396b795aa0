// Package experiment reproduces the paper's figures and the project's own, one file per figure. An
// experiment is a list of cells, each a function of its specification; finished cells are cached in
// DIR/cells and not computed again. The cells yield NAME.csv and NAME.svg, each with the
// command, the seeds and the version that made it inside, and NAME.json for the report.
//
// Schemes as in the paper: PURE is the mean without noise, DP the mean with noise, SPDL a resilient rule with noise.
//
// # How to add a figure
//
// Write one file with an Experiment and add it to all in experiment.go; the command, its help, the report and the tests
// then know it. cells returns the trainings: package train makes a train.Spec of a preset, whose Params are those of a
// genesis; paper and private in schemes.go do so and shorten quick runs. Panel and Series, and in a sweep X, tell cells
// apart. draw makes panels and a table of the finished cells: curves over the rounds, sweep over X, or other functions
// of figure. train.Columns lists the measured quantities. docs/REPRODUCTION.md is written by hand.
package experiment
