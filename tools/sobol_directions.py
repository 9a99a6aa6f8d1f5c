#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Chooses the initial direction numbers of our Sobol' sequence and writes them as a C table.

    sobol_directions.py [--dimensions 512] [--candidates 48] [--seed 1] > src/study/sobol_directions.c

A dimension has a primitive polynomial over GF(2), of degree d, and d odd initial numbers m_1..m_d with m_i < 2^i, which can be
chosen freely. They decide how evenly the first 2^m points fill the projection on two dimensions: with the quality parameter t
every dyadic box of size 2^(t-m) has 2^t points. For each new dimension the script draws candidates, computes t of the
projections on all pairs with earlier dimensions for m up to 16, and keeps the candidate with the least sum of 4^t. It takes about
ten minutes for 512 dimensions. All arithmetic is in integers: the same arguments give the same table everywhere.
"""
import argparse
import sys

import numpy as np

BITS = 16  # the largest m
MASK = (1 << 64) - 1


def mix(x):
    """A random number of 64 bits of a counter."""
    x = (x * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def times_x(a, poly, degree):
    a <<= 1
    return a ^ poly if a >> degree & 1 else a


def multiply(a, b, poly, degree):
    out = 0
    while b:
        if b & 1:
            out ^= a
        a = times_x(a, poly, degree)
        b >>= 1
    return out


def prime_factors(n):
    found, p = [], 2
    while p * p <= n:
        if n % p == 0:
            found.append(p)
            while n % p == 0:
                n //= p
        p += 1
    return found + ([n] if n > 1 else [])


def power_of_x(n, poly, degree):
    out, square = 1, 2 if degree > 1 else 1
    while n:
        if n & 1:
            out = multiply(out, square, poly, degree)
        square = multiply(square, square, poly, degree)
        n >>= 1
    return out


def is_primitive(poly, degree):
    """Whether x generates all nonzero residues: its order is 2^degree - 1."""
    order = (1 << degree) - 1
    if power_of_x(order, poly, degree) != 1:
        return False
    return all(power_of_x(order // p, poly, degree) != 1 for p in prime_factors(order))


def polynomials():
    degree = 1
    while True:
        for poly in range((1 << degree) + 1, 2 << degree, 2):
            if is_primitive(poly, degree):
                yield degree, poly
        degree += 1


def direction_numbers(degree, poly, initial):
    """m_1..m_BITS by the recurrence of the polynomial."""
    m = list(initial[:BITS])
    while len(m) < BITS:
        k = len(m)
        new = m[k - degree] ^ (m[k - degree] << degree)
        for i in range(1, degree):
            if poly >> (degree - i) & 1:
                new ^= m[k - i] << i
        m.append(new)
    return m


def matrix_rows(m):
    """The generator matrix: row r has bit r of each number, the first column is the lowest bit here."""
    rows = []
    for r in range(BITS):
        row = 0
        for c in range(r, BITS):  # column c has the c + 1 bits of m[c], the first row its highest
            row |= (m[c] >> (c - r) & 1) << c
        rows.append(row)
    return rows


def inverse_rows(rows):
    """The inverse of an upper triangular matrix with ones on the diagonal."""
    inverse = [0] * BITS
    for r in reversed(range(BITS)):
        inverse[r] = 1 << r
        for c in range(r + 1, BITS):
            if rows[r] >> c & 1:
                inverse[r] ^= inverse[c]
    return inverse


def qualities(products):
    """4^t summed over m, for matrices P = C2 C1^-1 given as products[row][pair].

    With P the first d1 rows of C1 are unit vectors: the d1 and d2 first rows are independent when the first d2 rows of P without
    their first d1 columns are. So for each d1 the rows are eliminated one by one, until one vanishes on m columns.
    """
    pairs = products.shape[1]
    weight = np.zeros(pairs, dtype=np.int64)
    for m in range(1, BITS + 1):
        least = np.full(pairs, m, dtype=np.int64)  # of d1 + d2 that are independent
        for d1 in range(m):
            keep = np.uint32(((1 << m) - 1) & ~((1 << d1) - 1))
            basis, lowest = [], []
            alive = np.ones(pairs, dtype=bool)
            rank = np.zeros(pairs, dtype=np.int64)
            for r in range(m - d1):
                row = products[r] & keep
                for b, low in zip(basis, lowest):
                    row = np.where(row & low, row ^ b, row)
                alive &= row != 0
                rank += alive
                if not alive.any():
                    break
                low = row & (~row + np.uint32(1))
                basis.append(row)
                lowest.append(low)
            np.minimum(least, d1 + rank, out=least)
        weight += np.int64(1) << 2 * (m - least)  # squares: one bad pair counts more than many fair ones
    return weight


def multiply_rows(rows, inverses):
    """rows * inverse for all inverses[c][i]: the products as [row][i]."""
    out = np.zeros((BITS, inverses.shape[1]), dtype=np.uint32)
    for r in range(BITS):
        for c in range(r, BITS):
            if rows[r] >> c & 1:
                out[r] ^= inverses[c]
    return out


def candidates(dimension, degree, count, seed):
    """Distinct lists of initial numbers."""
    seen, out = set(), []
    possible = 1 << (degree * (degree - 1) // 2)
    counter = (seed << 40) | (dimension << 24)
    while len(out) < min(count, possible):
        initial = []
        for i in range(1, degree + 1):
            initial.append(mix(counter) >> 20 & ((1 << i) - 1) | 1)
            counter += 1
        if tuple(initial) not in seen:
            seen.add(tuple(initial))
            out.append(initial)
    return out


def choose(dimensions, count, seed):
    identity = [1 << r for r in range(BITS)]
    inverses = np.array([identity], dtype=np.uint32).T
    source = polynomials()
    for dimension in range(2, dimensions + 1):
        degree, poly = next(source)
        best = None
        lists = candidates(dimension, degree, count, seed)
        rows = [matrix_rows(direction_numbers(degree, poly, initial)) for initial in lists]
        products = np.concatenate([multiply_rows(r, inverses) for r in rows], axis=1)
        weights = qualities(products).reshape(len(lists), -1)
        for initial, r, weight in zip(lists, rows, weights):
            cost = (int(weight.sum()), int(weight.max()))
            if best is None or cost < best[0]:
                best = cost, initial, r
        inverses = np.concatenate([inverses, np.array([inverse_rows(best[2])], dtype=np.uint32).T], axis=1)
        print(f"{dimension}: {best[0][0] / inverses.shape[1]:.1f} {best[0][1]}", file=sys.stderr, flush=True)
        yield degree, poly, best[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dimensions", type=int, default=512)
    parser.add_argument("--candidates", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("// SPDX-FileCopyrightText: 2026 the couplet developers")
    print("// SPDX-License-Identifier: BSD-2-Clause")
    print("//")
    print("// Initial direction numbers of the Sobol' sequence, made by tools/sobol_directions.py: the degree of a")
    print("// primitive polynomial, its coefficients as bits, and as many odd numbers. The first dimension has none.")
    print("// clang-format off")
    print('#include "study/sobol.h"')
    print()
    print("const cpli_sobol_row cpli_sobol_rows[CPL_MAX_SOBOL - 1] = {")
    for degree, poly, initial in choose(args.dimensions, args.candidates, args.seed):
        print(f"    {{{degree}, {poly}, {{{', '.join(map(str, initial))}}}}},")
    print("};")


if __name__ == "__main__":
    main()
