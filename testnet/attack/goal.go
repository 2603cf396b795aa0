package attack

import "math"

// Goal is the objective of hidden attackers: a function of an example's logits. A model of two classes with one output
// has the logits 0 and z. The attackers make the training of the honest participants minimise the objective.
type Goal struct {
	Name string
	// Triggered says that the objective is computed on examples with the backdoor's trigger, and with the label Target.
	Triggered bool
	// Flat says that attackers push along the goal's slope divided by the curvature of the honest
	// loss (View.uncurved). Such a push lies mostly where honest gradients hardly pull the model
	// back, so the model moves farther round by round.
	Flat bool
	// Deltas replaces an example's logits by the derivatives of the objective.
	Deltas func(logits []float32, label uint8)
}

// Target is the class that the backdoor assigns to examples with the trigger.
const Target = 0

// Goals lists the goals of the hidden attacks.
var Goals = []Goal{
	{Name: "ascent", Deltas: ascent},
	{Name: "margin", Deltas: margin},
	{Name: "drift", Flat: true, Deltas: margin},
	{Name: "threshold", Deltas: threshold},
	{Name: "flood", Deltas: flood},
	{Name: "backdoor", Triggered: true, Deltas: crossEntropy},
}

// crossEntropy is the training loss. Its derivatives are softmax minus the one-hot label.
func crossEntropy(logits []float32, label uint8) {
	top := logits[rival(logits, len(logits))]
	var total float64
	for _, v := range logits {
		total += math.Exp(float64(v - top))
	}
	for c, v := range logits {
		logits[c] = float32(math.Exp(float64(v-top)) / total)
	}
	logits[label]--
}

// ascent is the loss, negated.
func ascent(logits []float32, label uint8) {
	crossEntropy(logits, label)
	negate(logits)
}

// margin is the sigmoid s of the true logit minus the largest other logit. Its slope s(1-s) is
// largest for examples near the decision boundary, whose prediction a small push can change.
func margin(logits []float32, label uint8) {
	other := rival(logits, int(label))
	s := 1 / (1 + math.Exp(float64(logits[other]-logits[label])))
	clear(logits)
	logits[label], logits[other] = float32(s*(1-s)), -float32(s*(1-s))
}

// threshold is the sigmoid of the last class's logit minus the largest other logit, for every label. Where inputs are
// centred, its slope is mostly in the offsets: the model stops predicting that class.
func threshold(logits []float32, _ uint8) { margin(logits, uint8(len(logits)-1)) }

// flood is threshold, negated: the model predicts the last class for every example.
func flood(logits []float32, label uint8) {
	threshold(logits, label)
	negate(logits)
}

func negate(logits []float32) {
	for c := range logits {
		logits[c] = -logits[c]
	}
}

// rival returns the class of the largest logit among all classes except but.
func rival(logits []float32, but int) int {
	best := -1
	for c, v := range logits {
		if c != but && (best < 0 || v > logits[best]) {
			best = c
		}
	}
	return best
}
