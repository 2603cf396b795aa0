"""Rules as NumPy and PyTorch users write them, for BenchmarkBeside.

peers.py numpy|torch prints the library's version and answers each line "operation n d times" of its input with the seconds of CPU
that so many times took, or with "none" if it has no such operation. Data are integers like those
of the grid, in the type that suits the library best, and making them is not counted.
"""

import sys
import time

library = sys.argv[1]
if library == "numpy":
    import numpy as np

    def data(operation, n, d):
        x = np.random.default_rng(1).integers(-32, 33, (n, d))
        return x.astype(np.float32 if operation == "pairwise" else np.int8)

    def pairwise(x, f):
        gram = x @ x.T
        norms = np.diag(gram)
        return norms[:, None] + norms[None, :] - 2 * gram

    def trimmed(x, f):
        n = len(x)
        return np.partition(x, (f, n - f - 1), axis=0)[f : n - f].mean(axis=0)

    def median(x, f):
        return np.median(x, axis=0)

else:
    import torch

    torch.set_num_threads(1)

    def data(operation, n, d):
        x = torch.randint(-32, 33, (n, d))
        return x.to(torch.float32 if operation == "pairwise" else torch.int8)

    def pairwise(x, f):
        gram = x @ x.T
        norms = gram.diagonal()
        return norms[:, None] + norms[None, :] - 2 * gram

    def trimmed(x, f):
        return x.sort(0).values[f : len(x) - f].to(torch.int32).sum(0)

    def median(x, f):  # of an even number the lower one
        return x.median(0).values


operations = {"pairwise": pairwise, "trimmed-mean": trimmed, "median": median}
print(sys.modules["numpy" if library == "numpy" else "torch"].__version__, flush=True)
kept = None
for line in sys.stdin:
    operation, n, d, times = line.split()
    n, d = int(n), int(d)
    if operation not in operations:
        print("none", flush=True)
        continue
    if kept is None or kept[0] != (operation, n, d):
        kept = (operation, n, d), data(operation, n, d)
    begun = time.process_time()
    for _ in range(int(times)):
        operations[operation](kept[1], (n - 1) // 3)
    print(time.process_time() - begun, flush=True)
