package params

// Meaning describes a parameter of the chain. Unit is the unit in which Settings shows the parameter: Settings converts
// parts per million to percent, and the ledger's billionths of nats to nats.
type Meaning struct{ Unit, Text string }

// Meanings maps a parameter's path in genesis to its meaning.
var Meanings = map[string]Meaning{
	"preset":     {"", "name of the parameters that these were made of"},
	"test_chain": {"", "the noise may be known: nothing is private"},

	"model.kind":          {"", "softmax, logistic, mlp, or external: programs of the participants compute the gradients"},
	"model.inputs":        {"features", "inputs of the model for one example"},
	"model.hidden":        {"units", "size of the hidden layer"},
	"model.classes":       {"classes", "outputs of the model"},
	"model.pool":          {"pixels", "side of the window that is averaged to one feature; 1 for none"},
	"model.pixel_scale":   {"", "a feature is (pixel - mean) / scale"},
	"model.pixel_mean":    {"", "a feature is (pixel - mean) / scale"},
	"model.features.name": {"", "public feature map between the pixels and the model"},
	"model.features.hash": {"", "SHA-256 of the feature map: all participants compute the same"},
	"model.no_bias":       {"", "the layers have no biases"},
	"model.tensors":       {"", "parameters of an external model, in order"},
	"model.clipping":      {"", "what clips an example's gradient: rows for SPDL, sum for the trainer"},
	"model.config":        {"", "text that every trainer is given"},
	"model.trainer":       {"", "SHA-256 of the trainer's code, which every worker compares with its own"},
	"model.table.label":   {"", "column of the classes"},
	"model.table.classes": {"", "values of that column, in the order of the outputs"},
	"model.table.columns": {"", "inputs of the model, with the values that become 0 and 255"},
	"model.table.group":   {"", "column that names the group of a row, where groups are the unit of privacy"},
	"model.table.weights": {"", "factor of the clipped gradients of each class, over the largest; empty for 1"},
	"model.table.rate":    {"", "typical share of the second class, where the intercept begins; none for a half"},

	"grid.width": {"bytes", "size of a coordinate of a gradient"},
	"grid.step":  {"gradient units", "size of one grid step: a gradient is rounded to whole steps"},

	"rule.name":      {"", "how the gradients of a round become one update, Delta"},
	"rule.byzantine": {"participants", "how many may send anything without breaking the training (f)"},
	"rule.unsquared": {"", "distances without the square, as in the paper"},
	"rule.zeros":     {"", "a silent participant counts as a gradient of zeros"},
	"rule.tolerance": {"grid steps", "how far a leader's Delta may be off in a coordinate; 0 for not at all"},

	"training.rounds":        {"rounds", "length of the training"},
	"training.learning_rate": {"", "how far the model moves against Delta in a round"},
	"training.momentum":      {"", "share of the last step that is added to the next"},
	"training.weight_decay":  {"", "share of the model that is added to Delta"},

	"privacy.mechanism": {"", "gaussian: noise with a proven guarantee; prototype and none have no guarantee"},
	"privacy.unit": {"", "whose presence the guarantee hides: empty for one example, " +
		"group for all rows of a group"},
	"privacy.clip":             {"gradient norm", "bound on the gradient of one example"},
	"privacy.noise_multiplier": {"", "standard deviation of the noise over the bound"},
	"privacy.sampling_rate": {"of the examples", "share that a gradient is computed on, drawn again in each round " +
		"where below 1"},
	"privacy.batch": {"examples", "expected number of examples behind one gradient"},
	"privacy.worker_momentum": {"", "share of the last gradient in the next, after the noise; at 1 each is the sum of " +
		"all of its sender"},
	"privacy.prototype_epsilon": {"", "the prototype's epsilon, no guarantee"},
	"privacy.epsilon":           {"", "privacy budget of each participant: less is more private"},
	"privacy.delta":             {"", "probability with which the guarantee may fail"},
	"privacy.cost":              {"nats", "what one gradient costs, at each order of the ledger and in mu²"},
	"privacy.budget":            {"nats", "what a participant may spend, at each order of the ledger and in mu²"},
	"privacy.noise_floor":       {"", "gradients with less noise than an honest one has are rejected"},
	"privacy.discrete":          {"", "the noise is drawn from the exact discrete Gaussian"},
	"privacy.lemma1_epsilon":    {"", "epsilon that the paper's Lemma 1 claims of the noise, no guarantee"},

	"reputation.initial":     {"%", "reputation of a new member"},
	"reputation.penalty":     {"%", "loss for a gradient that points away from Delta"},
	"reputation.reward":      {"%", "gain for any other gradient, up to 100"},
	"reputation.margin":      {"%", "how far a gradient must point away from Delta to count, of a typical squared norm"},
	"reputation.passed_over": {"%", "loss of a leader whose turn ended without an aggregate"},
	"reputation.unseat":      {"", "a participant whose validator misbehaved loses the validator"},

	"election.term":          {"rounds", "from one election of a leader to the next"},
	"election.view_blocks":   {"blocks", "a leader's turn, after which the next in rank may lead too"},
	"election.quorum_blocks": {"blocks", "after which a round may close without everybody"},
	"election.commit_reveal": {"", "gradients are sent as hashes first, so that nobody sees another's in time"},
}
