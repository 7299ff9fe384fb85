"""Operators that cannot be embedded, and why: torch may know how to write them out, but that would not help."""

from __future__ import annotations

_COMPARES = "compares values that are computed from the input, which jumps; use maximum, minimum, clamp or relu where they do it"
_ROUNDS = "rounds, which jumps"
_PLACES = "gives places of entries, which jump; choose the other outputs by outputs=, or end the model before it"
_SORTS = "sorts; only the largest and the smallest entry are accepted (max, min, amax, amin)"

REASONS: dict[str, str] = {
    **dict.fromkeys(
        "eq ne lt le gt ge equal isclose isnan isinf isfinite logical_and logical_or logical_not logical_xor".split(), _COMPARES
    ),
    **dict.fromkeys(
        "bitwise_and bitwise_or bitwise_not bitwise_xor heaviside greater greater_equal less less_equal not_equal".split(), _COMPARES
    ),
    **dict.fromkeys("floor ceil round trunc fix frac fmod remainder floor_divide sign sgn signbit bucketize searchsorted".split(), _ROUNDS),
    **dict.fromkeys("argmax argmin argsort nonzero".split(), _PLACES),
    **dict.fromkeys("sort topk kthvalue median nanmedian quantile mode msort unique unique_consecutive".split(), _SORTS),
    **dict.fromkeys(
        "fft_fft fft_ifft fft_rfft fft_irfft stft istft complex view_as_complex polar".split(), "computes with complex numbers"
    ),
    **dict.fromkeys(
        "linalg_inv linalg_solve linalg_svd linalg_eigh linalg_qr cholesky linalg_cholesky".split(), "takes a computed matrix apart"
    ),
    "grid_sampler": "picks entries by places that are computed",
    "grid_sampler_2d": "picks entries by places that are computed",
    "_embedding_bag_forward_only": "looks up rows of a table",
}
