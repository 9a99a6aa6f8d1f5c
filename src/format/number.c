// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Printing is the Schubfach algorithm (R. Giulietti). Reading is exact division or multiplication
// where that is possible (W. Clinger), else a 128-bit product with the same powers of ten (the
// method of M. Eisel and D. Lemire); the few products that do not decide are left to strtod().
#include "format/number.h"

#include <assert.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/powers.h"

__extension__ typedef unsigned __int128 u128;

// floor(log2(10^k)), floor(log10(2^q)) and floor(log10(3/4 2^q)) for every exponent of a double;
// the shifts are of negative numbers too, which gcc and clang define as arithmetic
static int log2_of_power10(int k) { return (k * 1741647) >> 19; }
static int log10_of_power2(int q) { return (q * 1262611) >> 22; }
static int log10_of_three_quarters(int q) { return (q * 1262611 - 524031) >> 22; }

static_assert(sizeof(double) == 8, "exponents and bits are those of IEEE 754");

//------------------------------------ digits ------------------------------------

static const char two_digits[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546"
    "4748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293"
    "949596979899";

// Eight digits before `end`, with leading zeros.
static void put_eight(char* end, uint32_t value) {
  for (int i = 0; i < 4; i++) {
    memcpy(end -= 2, two_digits + 2 * (value % 100), 2);
    value /= 100;
  }
}

// The digits of `value` before `end`; returns the first.
static char* put_digits(char* end, uint64_t value) {
  while (value >= 100000000) {
    put_eight(end, (uint32_t)(value % 100000000));
    value /= 100000000;
    end -= 8;
  }
  uint32_t rest = (uint32_t)value;
  while (rest >= 100) {
    memcpy(end -= 2, two_digits + 2 * (rest % 100), 2);
    rest /= 100;
  }
  if (rest >= 10) {
    memcpy(end -= 2, two_digits + 2 * rest, 2);
  } else {
    *--end = (char)('0' + rest);
  }
  return end;
}

static size_t put_number(char* out, bool negative, uint64_t size) {
  char digits[24];
  char* end = digits + sizeof digits;
  char* first = put_digits(end, size);
  if (negative) *--first = '-';
  size_t n = (size_t)(end - first);
  memcpy(out, first, n);
  out[n] = '\0';
  return n;
}

static size_t put_integer(char* out, int64_t value) {
  return put_number(out, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

size_t cpli_format_unsigned(char out[CPLI_NUMBER_SIZE], uint64_t value) {
  return put_number(out, false, value);
}

size_t cpli_format_integer(char out[CPLI_NUMBER_SIZE], int64_t value) {
  return put_integer(out, value);
}

//------------------------------------ printing ------------------------------------

// A decimal number: digits * 10^exponent.
typedef struct decimal {
  uint64_t digits;
  int exponent;
} decimal;

// g * n / 2^128, with the lowest bit set when something was cut off ("round to odd"), which keeps
// comparisons with exact values right. The product's error through g is below that bit.
static uint64_t scale_to_odd(cpli_power g, uint64_t n) {
  u128 low = (u128)g.low * n;
  u128 high = (u128)g.high * n + (uint64_t)(low >> 64);
  return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

// The shortest decimal inside the rounding interval of c * 2^q, after R. Giulietti, "The Schubfach
// way to render doubles": scaled by 10^-k the interval holds at least one and at most ten integers,
// so only the two integers around the value, and the two multiples of ten around it, need a look.
// Everything is times four, so that the ends of the interval are integers too.
static decimal shortest(uint64_t c, int q, bool lower_is_closer) {
  const int k = lower_is_closer ? log10_of_three_quarters(q) : log10_of_power2(q);
  const int shift = q + log2_of_power10(-k) + 1;
  assert(-k >= CPLI_POWER_FIRST && -k <= CPLI_POWER_LAST && shift >= 0 && shift < 8);
  const cpli_power g = cpli_powers[-k - CPLI_POWER_FIRST];
  const uint64_t at = scale_to_odd(g, (4 * c) << shift);
  const uint64_t from = scale_to_odd(g, (4 * c - (lower_is_closer ? 1 : 2)) << shift);
  const uint64_t to = scale_to_odd(g, (4 * c + 2) << shift);
  // an even mantissa owns the ends of its interval
  const uint64_t lower = from + (c & 1), upper = to - (c & 1);

  const uint64_t below = at / 4;
  if (below >= 10) {
    const uint64_t tens = below / 10;
    const bool down = lower <= 40 * tens, up = 40 * tens + 40 <= upper;
    if (down != up) return (decimal){tens + up, k + 1};
  }
  const bool down = lower <= 4 * below, up = 4 * below + 4 <= upper;
  if (down != up) return (decimal){below + up, k};
  const uint64_t middle = 4 * below + 2;
  const bool nearer_up = at > middle || (at == middle && (below & 1) != 0);
  return (decimal){below + nearer_up, k};
}

static decimal without_trailing_zeros(decimal d) {
  if (d.digits % 100000000 == 0) {
    d.digits /= 100000000;
    d.exponent += 8;
  }
  while (d.digits % 10 == 0) {
    d.digits /= 10;
    d.exponent++;
  }
  return d;
}

// Lays out n digits: plain where that reads well, else with an exponent. Returns the end.
static char* lay_out(char* out, const char* digits, int n, int exponent) {
  const int point = n + exponent;  // digits before the decimal point
  if (point > 0 && point <= 17) {
    if (exponent >= 0) {
      memcpy(out, digits, (size_t)n);
      memset(out + n, '0', (size_t)exponent);
      return out + point;
    }
    memcpy(out, digits, (size_t)point);
    out[point] = '.';
    memcpy(out + point + 1, digits + point, (size_t)(n - point));
    return out + n + 1;
  }
  if (point <= 0 && point > -4) {
    memcpy(out, "0.0000", 6);
    out += 2 - point;
    memcpy(out, digits, (size_t)n);
    return out + n;
  }
  *out++ = digits[0];
  if (n > 1) {
    *out++ = '.';
    memcpy(out, digits + 1, (size_t)n - 1);
    out += n - 1;
  }
  *out++ = 'e';
  return out + put_integer(out, point - 1);
}

size_t cpli_format_double(char out[CPLI_NUMBER_SIZE], double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
  const int biased = (int)(bits >> 52 & 0x7ff);
  char* p = out;

  if (biased == 0x7ff) {
    const char* text = fraction != 0 ? "nan" : bits >> 63 != 0 ? "-inf" : "inf";
    strcpy(out, text);
    return strlen(text);
  }
  if (bits >> 63 != 0) *p++ = '-';

  // whole numbers, zero included, are common and need no search
  const double size = fabs(value);
  if (size < 9007199254740992.0 && size == (double)(int64_t)size) {
    return (size_t)(p - out) + put_integer(p, (int64_t)size);
  }

  const uint64_t c = biased != 0 ? fraction | UINT64_C(1) << 52 : fraction;
  const int q = (biased != 0 ? biased : 1) - 1075;
  decimal d = without_trailing_zeros(shortest(c, q, fraction == 0 && biased > 1));
  char digits[24];
  char* end = digits + sizeof digits;
  char* first = put_digits(end, d.digits);
  p = lay_out(p, first, (int)(end - first), d.exponent);
  *p = '\0';
  return (size_t)(p - out);
}

//------------------------------------ reading ------------------------------------

// A parsed number. `digits` holds the first nineteen significant ones.
typedef struct scanned {
  decimal d;
  bool whole;  // digits holds all of them
} scanned;

// Digits with at most one point. Returns the end, or NULL when there is no digit.
static const char* scan_mantissa(const char* p, const char* end, scanned* s) {
  int count = 0, significant = 0, after_point = 0;
  bool point = false;
  for (; p < end; p++) {
    if (*p == '.' && !point) {
      point = true;
      continue;
    }
    const unsigned digit = (unsigned char)*p - (unsigned)'0';
    if (digit > 9) break;
    count++;
    if (significant > 0 || digit != 0) significant++;
    if (significant <= 19) {
      s->d.digits = 10 * s->d.digits + digit;
      after_point += point;
    } else {
      s->whole = false;
      after_point -= !point;
    }
  }
  s->d.exponent = -after_point;
  return count > 0 ? p : NULL;
}

static bool scan_exponent(const char* p, const char* end, scanned* s) {
  if (p == end) return true;
  if (*p != 'e' && *p != 'E') return false;
  p++;
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  if (p == end) return false;
  int exponent = 0;
  for (; p < end; p++) {
    const unsigned digit = (unsigned char)*p - (unsigned)'0';
    if (digit > 9) return false;
    if (exponent < 100000) exponent = 10 * exponent + (int)digit;  // far out of range is far enough
  }
  s->d.exponent += negative ? -exponent : exponent;
  return true;
}

// Right for normal numbers, save the few whose 128-bit product is too near to half way between two
// doubles: these, subnormals and everything large return false.
static bool read_fast(decimal d, double* out) {
  static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (d.digits == 0) return *out = 0, true;
  if (d.digits < UINT64_C(1) << 53 && d.exponent >= -22 && d.exponent <= 22) {
    const double m = (double)d.digits;  // both exact, so that one rounding is left
    *out = d.exponent < 0 ? m / exact[-d.exponent] : m * exact[d.exponent];
    return true;
  }
  if (d.exponent < CPLI_POWER_FIRST || d.exponent > CPLI_POWER_LAST) return false;

  const int zeros = __builtin_clzll(d.digits);
  const uint64_t w = d.digits << zeros;
  const cpli_power g = cpli_powers[d.exponent - CPLI_POWER_FIRST];
  const u128 product = (u128)w * g.high + (uint64_t)((u128)w * g.low >> 64);
  // the product is at most one unit above the true one, and less than one below
  const int cut = (int)(product >> 127) != 0 ? 75 : 74;
  const u128 rest = product & (((u128)1 << cut) - 1), half = (u128)1 << (cut - 1);
  if (rest + 2 >= half && rest <= half + 2) return false;
  const uint64_t mantissa = (uint64_t)(product >> cut) + (rest > half);
  const int biased = cut + 64 - zeros + log2_of_power10(d.exponent) - 127 + 1075;
  if (biased < 1 || biased > 2045) return false;
  // adding lets a mantissa that was rounded up to 2^53 carry into the exponent
  const uint64_t bits = ((uint64_t)biased << 52) + (mantissa - (UINT64_C(1) << 52));
  memcpy(out, &bits, sizeof bits);
  return true;
}

// The C library's, in the C locale. The grammar was checked.
static bool read_slow(const char* text, size_t len, double* out) {
  char copy[1024];  // 767 digits decide any double
  if (len >= sizeof copy) return false;
  memcpy(copy, text, len);
  copy[len] = '\0';
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (c == (locale_t)0) return false;
  *out = strtod_l(copy, NULL, c);
  freelocale(c);
  return true;
}

static bool is_word(const char* text, size_t len, const char* word) {
  if (strlen(word) != len) return false;
  for (size_t i = 0; i < len; i++) {
    if ((text[i] | 0x20) != word[i]) return false;
  }
  return true;
}

bool cpli_parse_double(const char* text, size_t len, double* out) {
  const char *p = text, *end = text + len;
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  const size_t rest = (size_t)(end - p);
  scanned s = {.whole = true};
  double value;
  const char* after = scan_mantissa(p, end, &s);
  if (after == NULL) {
    if (is_word(p, rest, "nan")) {
      value = (double)NAN;
    } else if (is_word(p, rest, "inf") || is_word(p, rest, "infinity")) {
      value = (double)INFINITY;
    } else {
      return false;
    }
  } else {
    if (!scan_exponent(after, end, &s)) return false;
    if (!(s.whole && read_fast(s.d, &value)) && !read_slow(p, rest, &value)) return false;
    if (isinf(value)) return false;
  }
  *out = negative ? -value : value;
  return true;
}
