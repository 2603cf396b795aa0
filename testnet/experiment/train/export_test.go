package train

// WithParts makes the workers of participants who have these examples of the training set.
var WithParts = withParts
