"""Vectors and matrices of floats, complex numbers, arrays of many states, or symbols.

A vector is a sequence of three scalars, a matrix a sequence of three rows. Products with an exact zero are left out,
which keeps symbols short and numbers fast: most entries of the report's transforms are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Vector = Sequence[Any]
Matrix = Sequence[Sequence[Any]]

ZERO: Vector = (0.0, 0.0, 0.0)


NUMBER = (int, float)  # what may be an exact zero or one; NumPy's arrays and symbols are neither


def times(x: Any, y: Any) -> Any:
    """Return x y."""
    first, second = isinstance(x, NUMBER), isinstance(y, NUMBER)
    if (first and x == 0) or (second and y == 0):
        return 0.0
    if first and x == 1:
        return y
    return x if second and y == 1 else x * y


def plus(x: Any, y: Any) -> Any:
    """Return x + y."""
    if isinstance(x, NUMBER) and x == 0:
        return y
    return x if isinstance(y, NUMBER) and y == 0 else x + y


def minus(x: Any, y: Any) -> Any:
    """Return x - y."""
    return plus(x, times(-1.0, y))


def total(terms: Sequence[Any]) -> Any:
    """Return the sum of scalars."""
    result: Any = 0.0
    for term in terms:
        result = plus(result, term)
    return result


def dot(a: Vector, b: Vector) -> Any:
    """Return a . b."""
    return total([times(x, y) for x, y in zip(a, b, strict=True)])


def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return [minus(times(a[i], b[j]), times(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]


def add(*vectors: Vector) -> Vector:
    """Return the sum of vectors."""
    return [total(parts) for parts in zip(*vectors, strict=True)]


def scale(k: Any, a: Vector) -> Vector:
    """Return k a."""
    return [times(k, x) for x in a]


def apply(M: Matrix, a: Vector) -> Vector:
    """Return M a."""
    return [dot(row, a) for row in M]


def transpose(M: Matrix) -> Matrix:
    """Return M^T."""
    return list(zip(*M, strict=True))


def product(M: Matrix, N: Matrix) -> Matrix:
    """Return M N."""
    return [[dot(row, column) for column in zip(*N, strict=True)] for row in M]


def cos(x: Any) -> Any:
    """Return cos x, by the method of a symbol or by NumPy."""
    return x.cos() if hasattr(x, 'cos') else np.cos(x)


def sin(x: Any) -> Any:
    """Return sin x, by the method of a symbol or by NumPy."""
    return x.sin() if hasattr(x, 'sin') else np.sin(x)


def tanh(x: Any) -> Any:
    """Return tanh x, by the method of a symbol or by NumPy."""
    return x.tanh() if hasattr(x, 'tanh') else np.tanh(x)


def exp(x: Any) -> Any:
    """Return exp x, by the method of a symbol or by NumPy."""
    return x.exp() if hasattr(x, 'exp') else np.exp(x)


def sign(x: Any) -> Any:
    """Return the sign of x, by the method of a symbol or by NumPy."""
    return x.sign() if hasattr(x, 'sign') else np.sign(x)
