"""Operators that cannot be embedded, and why: torch may know how to write them out, but that would not help."""

from __future__ import annotations

_COMPARES = "compares values that are computed from the input, which jumps; use maximum, minimum, clamp or relu where they do it"
_ROUNDS = "rounds, which jumps"
_PLACES = "gives places of entries, which jump; choose the other outputs by outputs=, or end the model before it"
_SORTS = "sorts in a way that is not known; sorted values are accepted (sort, topk, kthvalue, median)"

REASONS: dict[str, str] = {
    **dict.fromkeys(["equal", "isclose", "logical_and", "logical_or", "logical_xor", "heaviside"], _COMPARES),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor", "not_equal"], _COMPARES),
    **dict.fromkeys(
        [
            "floor",
            "ceil",
            "round",
            "trunc",
            "fix",
            "frac",
            "fmod",
            "remainder",
            "floor_divide",
            "sgn",
            "signbit",
            "bucketize",
            "searchsorted",
        ],
        _ROUNDS,
    ),
    **dict.fromkeys(["argmax", "argmin", "argsort", "nonzero"], _PLACES),
    **dict.fromkeys(["nanmedian", "quantile", "mode", "unique", "unique_consecutive"], _SORTS),
    **dict.fromkeys(
        ["fft_fft", "fft_ifft", "fft_rfft", "fft_irfft", "stft", "istft", "complex", "view_as_complex", "polar"],
        "computes with complex numbers",
    ),
    **dict.fromkeys(
        [
            "linalg_inv",
            "linalg_inv_ex",
            "_linalg_solve_ex",
            "_linalg_svd",
            "_linalg_eigh",
            "_linalg_det",
            "linalg_det",
            "linalg_cholesky_ex",
            "linalg_solve",
            "linalg_svd",
            "linalg_eigh",
            "linalg_qr",
            "cholesky",
            "linalg_cholesky",
        ],
        "takes a computed matrix apart",
    ),
    "grid_sampler": "picks entries by places that are computed",
    "grid_sampler_2d": "picks entries by places that are computed",
    "_embedding_bag_forward_only": "looks up rows of a table",
}
