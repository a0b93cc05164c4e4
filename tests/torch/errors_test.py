"""Guards against wrong arguments that end the interpreter, are computed with, or are explained
without the argument's name. It runs for each path of attnbench.torch, as
ATTNBENCH_TORCH_BACKEND says.
"""

import os
import unittest

import torch

import attnbench.torch as at
import needs

PORTABLE = os.environ.get("ATTNBENCH_TORCH_BACKEND") == "portable"
NAN, INF = float("nan"), float("inf")
LONGEST = 300


def filled(*shape, value=0.5):
    return torch.full(shape, value)


class ErrorsTest(unittest.TestCase):
    def assert_refused(self, kind, text, call):
        with self.assertRaises(kind) as caught:
            call()
        message = str(caught.exception)
        self.assertIn(text, message)
        self.assertLessEqual(len(message), LONGEST)

    def test_shapes_that_do_not_fit_are_refused(self):
        p = filled(2, 3, 4, 5)
        for text, call in {
            "p must be [B, H, U, T], but has 3 dimensions":
                lambda: at.monotonic_attention(p=p[0]),
            "energies must be [B, H, U, T], but has 5 dimensions":
                lambda: at.monotonic_attention(energies=p[None]),
            "p must be [B, H, U, T], but has 1 dimension":
                lambda: at.monotonic_attention(p=p[0, 0, 0]),
            "chunk_energies of shape [2, 3, 4, 4] does not fit p of shape [2, 3, 4, 5]:"
            " dimension 3 must be 5":
                lambda: at.mocha_attention(p[..., 1:], 2, p=p),
            "start of shape [2, 3, 4] does not fit energies":
                lambda: at.matcha_attention(p, energies=p, start=filled(2, 3, 4)),
            "start must be [B, H, T], but has 4 dimensions":
                lambda: at.monotonic_attention(p=p, start=p),
            "lengths must be [B] with B = 2, but has the shape [3]":
                lambda: at.monotonic_attention(p=p, lengths=torch.tensor([1, 2, 3])),
            "lengths must be [B] with B = 2, but has the shape []":
                lambda: at.monotonic_attention(p=p, lengths=torch.tensor(1)),
            "decoder_scores of shape [2, 3, 4, 4] does not fit encoder_scores":
                lambda: at.memory_attention(p, p[..., 1:]),
            "encoder_scores must have K >= 1 columns":
                lambda: at.memory_attention(p[..., :0], p[..., :0]),
            "memory of shape [2, 3, 2, 5] does not fit encoder_scores":
                lambda: at.memory_contexts(p, p, p[:, :, :2]),
            "keys of shape [2, 1, 4, 5] does not fit queries":
                lambda: at.additive_energies(p, p[:, :1], filled(5)),
            "v of shape [4] does not fit queries":
                lambda: at.additive_energies(p, p, filled(4)),
            "v of shape [2, 5] does not fit queries":
                lambda: at.additive_energies(p, p, filled(2, 5)),
            "v must be [d] or [H, d], but has 3 dimensions":
                lambda: at.additive_energies(p, p, filled(2, 3, 5)),
            "queries must have at least one column":
                lambda: at.additive_energies(p[..., :0], p[..., :0], filled(0)),
        }.items():
            self.assert_refused(ValueError, text, call)

    def test_lengths_outside_the_memory_are_refused(self):
        p = filled(2, 1, 2, 3)
        for wrong in ([3, 4], [3, -1], [3, 12345678901]):
            for call in (lambda: at.monotonic_attention(p=p, lengths=torch.tensor(wrong)),
                         lambda: at.memory_attention(p.transpose(2, 3), filled(2, 1, 1, 2),
                                                     torch.tensor(wrong)),
                         lambda: at.expected_delays(p, torch.tensor(wrong))):
                self.assert_refused(
                    ValueError, f"lengths must be in [0, T] with T = 3, but lengths[1] is"
                    f" {wrong[1]}", call)

    def test_numbers_that_are_not_allowed_are_named_with_their_place(self):
        def with_one(value, shape=(2, 3, 4, 5), place=(1, 2, 3, 4)):
            table = filled(*shape)
            table[place] = value
            return table

        fine = filled(2, 3, 4, 5)
        start = with_one(-1, (2, 3, 5), (1, 0, 2))
        for text, call in {
            "p must be in [0, 1], but p[1, 2, 3, 4] is 1.5":
                lambda: at.monotonic_attention(p=with_one(1.5)),
            "p must be in [0, 1], but p[1, 2, 3, 4] is -0.25":
                lambda: at.mocha_attention(fine, 2, p=with_one(-.25)),
            "p must be in [0, 1], but p[1, 2, 3, 4] is nan":
                lambda: at.matcha_attention(fine, p=with_one(NAN)),
            "energies must be numbers, but energies[1, 2, 3, 4] is nan":
                lambda: at.monotonic_attention(energies=with_one(NAN)),
            "chunk_energies must be finite, but chunk_energies[1, 2, 3, 4] is -inf":
                lambda: at.mocha_attention(with_one(-INF), 2, p=fine),
            "start must be finite and not negative, but start[1, 0, 2] is -1":
                lambda: at.monotonic_attention(p=fine, start=start),
            "encoder_scores must be finite, but encoder_scores[1, 2, 3, 4] is nan":
                lambda: at.memory_attention(with_one(NAN), fine),
            "decoder_scores must be finite, but decoder_scores[1, 2, 3, 4] is inf":
                lambda: at.memory_attention(fine, with_one(INF)),
            "memory must be finite, but memory[1, 2, 3, 4] is nan":
                lambda: at.memory_contexts(fine, fine, with_one(NAN)),
            "queries must be numbers, but queries[1, 2, 3, 4] is nan":
                lambda: at.additive_energies(with_one(NAN), fine, filled(5)),
            "keys must be numbers, but keys[1, 2, 3, 4] is nan":
                lambda: at.additive_energies(fine, with_one(NAN), filled(5)),
            "v must be numbers": lambda: at.additive_energies(fine, fine, filled(5, value=NAN)),
        }.items():
            self.assert_refused(ValueError, text, call)

    def test_a_wrong_number_is_told_in_digits_that_read_back(self):
        def told(p):
            with self.assertRaises(ValueError) as caught:
                at.monotonic_attention(p=p)
            return str(caught.exception).split(" is ")[1]

        # A cumulative softmax in f32 ends above 1 in one row of twelve.
        self.assertEqual(told(filled(1, 1, 1, 1, value=1 + 2**-23)), "1.0000001")
        for dtype in (torch.float, torch.double, torch.half, torch.bfloat16):
            one = torch.ones(1, 1, 1, 1, dtype=dtype)
            for wrong in (one + torch.finfo(dtype).eps, -one / 3, one * 12345, -one * 1e-7):
                self.assertNotEqual(float(told(wrong)), 1)
                self.assertTrue(torch.equal(torch.full_like(one, float(told(wrong))), wrong))

    def test_a_mask_that_is_not_padding_on_the_right_is_no_lengths(self):
        padding = torch.tensor([[False] * 4, [False, True, True, True], [True] * 4])
        self.assertEqual(at.lengths_from_mask(padding).tolist(), [4, 1, 0])
        self.assertEqual(torch.jit.script(at.lengths_from_mask)(padding).tolist(), [4, 1, 0])
        self.assertEqual(at.lengths_from_mask(padding).dtype, torch.int64)
        self.assertEqual(at.lengths_from_mask(padding[:, :0]).tolist(), [0] * 3)
        self.assertEqual(at.lengths_from_mask(padding.to("meta")).shape, (3,))
        self.assertIsNone(at.lengths_from_mask(None))
        for text, mask in (
                ("padding_mask[0, 2] is True and padding_mask[0, 3] is False", padding.flip(1)[1:]),
                ("padding_mask[1, 2] is True and padding_mask[1, 3] is False",
                 [[False] * 4, [False, False, True, False]])):
            self.assert_refused(ValueError, text,
                                lambda: at.lengths_from_mask(torch.as_tensor(mask)))
        self.assert_refused(ValueError, "padding_mask must be [B, T], but its shape is [4]",
                            lambda: at.lengths_from_mask(padding[0]))
        for text, mask in (("padding_mask must be bool, but is int64", padding.long()),
                           ("padding_mask must be a tensor, but is of type list", [[True]])):
            self.assert_refused(TypeError, text, lambda: at.lengths_from_mask(mask))

    def test_the_first_wrong_number_is_named_whatever_the_threads_do(self):
        p = filled(8, 2, 3, 4)
        p[5, 1, 2, 3] = NAN
        p[2, 0, 1, 2] = 7
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            self.assert_refused(ValueError, "p[2, 0, 1, 2] is 7",
                                lambda: at.monotonic_attention(p=p))

    def test_types_and_devices_that_cannot_be_computed_with_are_refused(self):
        p = filled(1, 1, 2, 3)
        for text, call in {
            "p must be float32, float64, float16 or bfloat16, but is int32":
                lambda: at.monotonic_attention(p=p.int()),
            "chunk_energies must have the type of p, float32, but is float64":
                lambda: at.mocha_attention(p.double(), 2, p=p),
            "start must have the type of p": lambda: at.monotonic_attention(
                p=p, start=filled(1, 1, 3).half()),
            f"p must be dense, but its layout is {'sparse_coo' if PORTABLE else 'Sparse'}":
                lambda: at.monotonic_attention(p=p.to_sparse()),
            f"p must be dense, but its layout is {'_mkldnn' if PORTABLE else 'Mkldnn'}":
                lambda: at.monotonic_attention(p=p.cpu().to_mkldnn()),
            f"or bfloat16, but is {'quint8' if PORTABLE else 'QUInt8'}":
                lambda: at.monotonic_attention(
                    p=torch.quantize_per_tensor(p, 0.1, 0, torch.quint8)),
            f"or bfloat16, but is {'complex64' if PORTABLE else 'ComplexFloat'}":
                lambda: at.monotonic_attention(p=p + 0j),
            f"chunk_energies must be where p is, on {p.device}, but is on {needs.OTHER_DEVICE}":
                lambda: at.mocha_attention(p.to(needs.OTHER_DEVICE), 2, p=p),
            "lengths has no numbers: it is on meta": lambda: at.monotonic_attention(
                p=p, lengths=torch.tensor([1]).to("meta")),
            "lengths must be int64, but is int32": lambda: at.monotonic_attention(
                p=p, lengths=torch.tensor([1], dtype=torch.int32)),
            "p must be a tensor, but is of type list": lambda: at.monotonic_attention(p=[[.5]]),
            "lengths must be a tensor, but is of type list": lambda: at.monotonic_attention(
                p=p, lengths=[3]),
            "end must be a text, but is of type int": lambda: at.monotonic_attention(p=p, end=1),
            "width must be an int, but is of type float": lambda: at.mocha_attention(p, 2.0, p=p),
            "max_length must be an int, but is of type str":
                lambda: at.memory_attention(p, p, max_length="3"),
        }.items():
            self.assert_refused(TypeError, text, call)

    def test_options_that_are_not_known_are_refused(self):
        p = filled(1, 1, 2, 3)
        for text, call in {
            "end must be one of absorb, stay_last, restart": lambda: at.monotonic_attention(
                p=p, end="preserve" * 1000),
            "start cannot be given where end is restart": lambda: at.monotonic_attention(
                p=p, start=filled(1, 1, 3), end="restart"),
            "width must be at least 1 and less than 2**63": lambda: at.mocha_attention(p, 0, p=p),
            "width must be at least 1 and": lambda: at.mocha_attention(p, 2**70, p=p),
            "max_length must be at least 0": lambda: at.memory_attention(p, p, max_length=-1),
            "give either p or energies": lambda: at.monotonic_attention(p=p, energies=p),
            "encoder_scoring must be one of softmax, sigmoid":
                lambda: at.memory_attention(p, p, encoder_scoring="relu" * 1000),
            "decoder_scoring must be one of": lambda: at.memory_attention(
                p, p, decoder_scoring=""),
            "position_encoding must be one of none, raw, renormalized, renormalized_mean":
                lambda: at.memory_attention(p, p, position_encoding="sine"),
            "place must be one of inside, outside": lambda: at.memory_attention(
                p, p, place="after"),
            "max_length must be 0 or at least the longest length, 2, but is 1":
                lambda: at.memory_attention(p, p, max_length=1),
        }.items():
            self.assert_refused(ValueError, text, call)
        self.assert_refused(ValueError, "give either p or energies", at.monotonic_attention)


if __name__ == "__main__":
    unittest.main()
