"""The protocol, with the standard library alone."""
import contextlib
import io
import json
import struct
import subprocess
import sys
import unittest

from spdl_trainer import Mismatch
from spdl_trainer.floats import decode, encode
from spdl_trainer.protocol import MAX_TEXT, _Session
from spdl_trainer.tensors import difference
from tests import hello

TENSORS = [{"name": "w", "shape": [2, 2], "init": "zeros"}, {"name": "b", "shape": [2], "init": "zeros"}]


class Study:
    examples = 7

    groups = ["b", "a", "b", 3, 3, "a", "c"]

    def __init__(self, shapes):
        if shapes is not None:
            self.shapes = shapes

    def gradients(self, parameters, indices):
        return [[i + p for p in parameters] for i in indices]

    def clipped_sum(self, parameters, indices, clip):
        return [clip] * len(parameters)

    def clipped_group_sum(self, parameters, groups, clip):
        return [100 * len(g) + sum(g) + clip for g in groups] + [0] * (len(parameters) - len(groups))


def session(shapes, clipping="rows", made=Study, **more):
    out = io.BytesIO()
    s = _Session(lambda hello: made(shapes), out)
    said = {"protocol": 1, "dimension": 6, "clip": 2, "clipping": clipping, "tensors": TENSORS, "config": "",
            "share": {"data": "", "part": 0, "parts": 1, "partition": "iid", "alpha": 1, "seed": 0}}
    s.answer(b"H", json.dumps(dict(said, **more)).encode())
    return s, json.loads(taken(out)[1])


def taken(out):
    """The type and the body of the one frame that was written."""
    frame = out.getvalue()
    out.seek(0)
    out.truncate()
    kind, length = struct.unpack("<cI", frame[:5])
    assert len(frame) == 5 + length
    return kind, frame[5:]


def question(*indices):
    return struct.pack("<I%dI" % len(indices), len(indices), *indices) + encode([0, 1, 2, 3, 4, 5], "d")


class TestProtocol(unittest.TestCase):
    def test_hello_names_the_tensors(self):
        _, answer = session({"b": (2,), "w": (2, 2)})
        self.assertEqual(answer, {"protocol": 1, "examples": 7, "evaluates": False, "groups": True,
                                  "tensors": [{"name": "b", "shape": [2]}, {"name": "w", "shape": [2, 2]}]})

    def test_a_command_that_is_nearly_predict_is_an_error(self):
        program = "import sys; sys.argv = ['train.py', %r, 'm.npz', 'rows.csv']; from spdl_trainer import serve; serve(lambda hello: None)"
        for word, code in (("predit", 1), ("--fast", 0)):  # another argument is the study's own
            done = subprocess.run([sys.executable, "-c", program % word], capture_output=True, stdin=subprocess.DEVNULL)
            self.assertEqual((done.returncode, b"did you mean predict?" in done.stderr), (code, code == 1), done.stderr)

    def test_a_study_without_shapes_names_none(self):
        s, answer = session(None)
        self.assertNotIn("tensors", answer)
        s.answer(b"G", question(1))

    def test_other_tensors_give_no_gradient(self):
        for shapes, want in (
                ({"w": (3, 2), "b": (2,)}, r"tensor w has shape \[3, 2\] in the model and \[2, 2\] in"),
                ({"w": (2, 2)}, r"tensor b of the parameters, of shape \[2\], is not in the model"),
                ({"w": (2, 2), "b": (2,), "c": (1,)}, r"tensor c of the model, of shape \[1\], is not in")):
            s, answer = session(shapes)
            self.assertEqual(len(answer["tensors"]), len(shapes))
            with self.assertRaisesRegex(Mismatch, want):
                s.answer(b"G", question(1))

    def test_too_many_names_are_left_out(self):
        many = {"w%d" % i: (1,) for i in range(MAX_TEXT // 20)}
        s, answer = session(many)
        self.assertNotIn("tensors", answer)
        with self.assertRaises(Mismatch):
            s.answer(b"G", question(1))

    def test_rows_and_sum(self):
        s, _ = session(None)
        s.answer(b"G", question(1, 3))
        self.assertEqual(taken(s.out), (b"R", encode([[1, 2, 3, 4, 5, 6], [3, 4, 5, 6, 7, 8]], "f")))
        s.answer(b"G", question())
        self.assertEqual(taken(s.out), (b"R", b""))
        s, _ = session(None, "sum")
        s.answer(b"G", question(1))
        self.assertEqual(list(decode(taken(s.out)[1])), [2.0] * 6)
        s.answer(b"G", question())
        self.assertEqual(list(decode(taken(s.out)[1])), [0.0] * 6)

    def test_a_mean_over_the_batch_is_an_error_at_once(self):
        class Mean(Study):
            def gradients(self, parameters, indices):
                return [float(i) for i in range(6)]

        s, _ = session(None, made=lambda shapes: Mean(shapes))
        s.answer(b"G", question(1))
        self.assertEqual(taken(s.out), (b"R", encode(range(6), "f")))
        with self.assertRaisesRegex(ValueError, r"returned 1 row of 6 numbers for 3 examples, want shape \[3, 6\]"):
            s.answer(b"G", question(1, 3, 4))

    def test_warnings_go_to_the_log(self):
        class Warned(Study):
            warnings = ["two softmax"]

        log = io.StringIO()
        with contextlib.redirect_stderr(log):
            session(None, made=lambda shapes: Warned(shapes))
        self.assertEqual(log.getvalue(), "warning: two softmax\n")

    def test_the_best_version_is_spoken(self):
        self.assertEqual(session(None)[1]["protocol"], 1)
        self.assertEqual(session(None, protocols=[1])[1]["protocol"], 1)
        self.assertEqual(session(None, protocols=[1, 2, 3])[1]["protocol"], 2)
        with self.assertRaisesRegex(RuntimeError, "protocol 3, this file speaks 1 and 2"):
            session(None, protocols=[3])

    def test_answers_repeat_the_number_of_the_question(self):
        s, _ = session(None, protocols=[1, 2])
        for number in (b"\1\0\0\0", b"\xff\xff\xff\xff"):
            s.answer(b"G", number + question(1))
            self.assertEqual(taken(s.out), (b"R", number + encode([1, 2, 3, 4, 5, 6], "f")))
            s.send(b"X", b"why")
            self.assertEqual(taken(s.out), (b"X", number + b"why"))

    def test_probabilities_of_either_side(self):
        class Sides(Study):
            x, y, x_test, y_test = [1], [2], [3, 4], [0, 1]

            def probabilities(self, parameters, x):
                return [[parameters[5], v, 0] for v in x]

        class Unclassified(Sides):
            classified = False
        self.assertNotIn("predicts", session(None, made=Unclassified)[1])
        s, answer = session(None, made=Sides)
        self.assertTrue(answer["predicts"])
        for trained, labels, p in ((0, [0, 1], [5, 3, 0, 5, 4, 0]), (1, [2], [5, 1, 0])):
            s.answer(b"P", struct.pack("<I", trained) + encode([0, 1, 2, 3, 4, 5], "d"))
            frames, got = s.out.getvalue(), []
            while frames:
                kind, length = struct.unpack("<cI", frames[:5])
                got.append((kind, frames[5:5 + length]))
                frames = frames[5 + length:]
            s.out.seek(0)
            s.out.truncate()
            self.assertEqual((json.loads(got[0][1]), [k for k, _ in got]), ({"rows": len(labels), "classes": 3}, [b"P", b"R"]))
            want = [v for i, label in enumerate(labels) for v in (label, *p[3 * i:3 * i + 3])]
            self.assertEqual(list(struct.unpack("<%df" % len(want), got[1][1])), want)

    def test_groups(self):
        for clipping in ("rows", "sum"):
            s, _ = session(None, clipping, protocols=[1, 2], unit="group")
            s.answer(b"U", b"\5\0\0\0")
            self.assertEqual(taken(s.out), (b"U", b"\5\0\0\0" + struct.pack("<7I", 0, 1, 0, 2, 2, 1, 3)))
        body = struct.pack("<8I", 9, 2, 3, 2, 1, 0, 2, 6) + encode([0, 1, 2, 3, 4, 5], "d")
        s.answer(b"G", body)  # the groups (0, 2) and (6)
        self.assertEqual(list(decode(taken(s.out)[1][4:])), [204.0, 108.0, 0, 0, 0, 0])
        s.answer(b"G", struct.pack("<3I", 9, 0, 0) + encode([0] * 6, "d"))
        self.assertEqual(list(decode(taken(s.out)[1][4:])), [0.0] * 6)

    def test_a_study_without_groups(self):
        class None_(Study):
            groups = None

        class Few(Study):
            groups = [1, 2]

        class Rows(Study):
            clipped_group_sum = property()

        for made, want in ((None_, "the study has no groups"), (Few, "the study has 2 groups: groups is the group of each"),
                           (Rows, "no clipped_group_sum")):
            with self.assertRaisesRegex(RuntimeError, want):
                session(None, "sum", made, protocols=[1, 2], unit="group")
            session(None, "sum", made, protocols=[1, 2])
        with self.assertRaisesRegex(RuntimeError, "the unit of privacy is 'household'"):
            session(None, unit="household")

    def test_whole_groups_are_dealt_out(self):
        groups = [g for g in range(30) for _ in range(g % 4 + 1)]
        parts = [hello(part=i, parts=3).part(len(groups), groups) for i in range(3)]
        self.assertEqual(sorted(sum(parts, [])), list(range(len(groups))))
        of = [{groups[i] for i in part} for part in parts]
        self.assertEqual([len(g) for g in of], [10, 10, 10])
        self.assertEqual(len(set.union(*of)), 30)
        self.assertEqual(hello().part(len(groups), groups), list(range(len(groups))))

    def test_difference_names_the_first_of_hello(self):
        self.assertIsNone(difference({"b": [2], "w": [2, 2]}, TENSORS))
        self.assertIn("tensor w", difference({"b": [3], "w": [3, 2]}, TENSORS))


if __name__ == "__main__":
    unittest.main()
