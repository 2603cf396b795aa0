"""The description of a model for genesis."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from tests import has

if has("numpy"):
    import numpy as np

MODEL = """
import numpy as np
import beside
print("noise")
def load(hello):
    x = np.arange(40.0).reshape(10, 4)
    return x, np.arange(10) % 3, x, np.arange(10) % 3
def build():
    return {"w": np.zeros((3, 4)), "b": np.zeros(3)}
def other():
    return object()
def wide():
    return {"w": np.zeros((3, 5)), "b": np.zeros(3)}
"""


@unittest.skipUnless(has("numpy"), "no NumPy: on Debian, apt-get install python3-numpy")
class TestDescribe(unittest.TestCase):
    def run_on(self, function, *more, text=MODEL):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("my.py", text), ("beside.py", ""), ("unused.py", "")):
                with open(os.path.join(folder, name), "w") as f:
                    f.write(content)
            return subprocess.run([sys.executable, "-B", "-m", "spdl_trainer.describe",
                                   os.path.join(folder, "my.py") + ":" + function, *more],
                                  capture_output=True, text=True, check=False)

    def test_answer(self):
        done = self.run_on("build")
        self.assertEqual(json.loads(done.stdout), {
            "tensors": [{"name": "w", "shape": [3, 4], "init": "zeros"}, {"name": "b", "shape": [3], "init": "zeros"}],
            "examples": 10, "groups": False, "reads": False, "files": ["beside.py", "my.py"], "warnings": [],
            "about": "", "weights": None, "step": 0, "gradient": 0, "loads": True, "norm": 0, "pace": "", "patience": ""}, done.stderr)

    @unittest.skipUnless(has("torch"), "no PyTorch: on Debian, apt-get install python3-torch")
    def test_a_pretrained_body_is_found_or_missed_aloud(self):
        text = """
import os
import numpy as np
import torch
from torch import nn
def load(hello):
    x = np.arange(40, dtype="float32").reshape(10, 4)
    return x, np.arange(10) % 3, x, np.arange(10) % 3
def build():
    body = nn.Linear(4, 5)
    if os.path.exists("body.pt"):
        body.load_state_dict(torch.load("body.pt"))
    return nn.Sequential(body.requires_grad_(False), nn.Linear(5, 3))
def seeded():
    torch.manual_seed(1)
    return build()
"""
        done = self.run_on("build", text=text)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("tensor 0.weight is frozen, and has other values each time build is called", done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            import torch
            want = {"weight": torch.rand(5, 4), "bias": torch.rand(5)}
            torch.save(want, os.path.join(folder, "body.pt"))
            path, study = os.path.join(folder, "my.py"), os.path.join(folder, "study")
            os.mkdir(study)
            with open(path, "w") as f:
                f.write(text)
            done = subprocess.run([sys.executable, "-B", "-m", "spdl_trainer.describe", path + ":build", "--folder",
                                   study], capture_output=True, text=True, check=False)
            self.assertIn("frozen: 2 tensors", done.stdout, done.stderr)
            from spdl_trainer import weights
            with open(os.path.join(study, weights.NAME), "rb") as f:
                frozen = weights.decode(f.read(), study)
            self.assertEqual(self.run_on("seeded", "--folder", study, text=text).returncode, 0)
        for name, t in want.items():
            self.assertTrue(np.array_equal(frozen["0." + name], t.numpy()), name)

    def test_load(self):
        for returned, want in (("x, y, x, y, y // 2", None), ("x, y", "load of my.py returns 2 values"),
                               ("x, y, x, y, y, y", "load of my.py returns 6 values"),
                               ("None", "load of my.py returns 1 value,")):
            done = self.run_on("build", text=MODEL.replace("return x, np.arange(10) % 3, x, np.arange(10) % 3",
                                                           "y = np.arange(10) % 3; return " + returned))
            if want is None:
                said = json.loads(done.stdout)
                self.assertEqual((said["groups"], said["examples"]), (True, 2), done.stderr)
                continue
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertIn(want, done.stderr)
            self.assertIn("want x, y, x_test, y_test and optionally groups", done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_labels_are_bounded(self):
        labels = "return x, np.arange(10) % 3"
        done = self.run_on("build", text=MODEL.replace(labels, labels + " - 1"))
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertEqual(done.stderr.split("\n")[-2], "load of my.py: y[0] is no label from 0 to 2, as array w "
                         "has 3 rows; 4 of 10 labels are outside")

    def test_reasons(self):
        for function, more, want in (("other", (), "build returns a object, want a torch.nn.Module"),
                                     ("none", (), "has no function none"),
                                     ("wide", (), "array w has shape [3, 5], and the data have 4 inputs and 3 classes"),
                                     ("build", ("--most", "14"), "the model has 15 parameters, at most 14: the largest "
                                                                 "tensor is w with 12")):
            done = self.run_on(function, *more)
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertIn(want, done.stderr)


if __name__ == "__main__":
    unittest.main()
