// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Units of derived curves. A unit is a product of powers, "kg.m2/s2" <-> Map {kg: 1, m: 2, s: -2}. An empty text is an unknown
// unit, and so is everything computed from it; "1" is the unit of numbers. Units are not converted.

function parseUnit(text) {
  const factors = new Map();
  let at = 0;
  const put = (symbol, power) => factors.set(symbol, (factors.get(symbol) ?? 0) + power);
  const take = pattern => { const m = pattern.exec(text.slice(at)); if (m) at += m[0].length; return m; };
  const product = (sign, close) => {
    for (let way = sign;;) {
      if (take(/^\(/)) { if (!product(way, true)) return false; }
      else {
        const m = take(/^(?:1(?![\d.])|([A-Za-zΩµμ°%Å_]+)(?:\^?\(?([+-]?\d+)\)?)?)/);
        if (!m) return false;
        if (m[1]) put(m[1], way * Number(m[2] ?? 1));
      }
      if (close && take(/^\)/)) return true;
      const operator = take(/^\s*([.*·/ ])\s*/);
      if (!operator) return !close && at === text.length;
      way = operator[1] === '/' ? -sign : sign;
    }
  };
  if (product(1, false)) return factors;
  return new Map([[/^[^\d./*()^ ]+$/.test(text) ? text : '(' + text + ')', 1]]); // whatever it is, it is one factor
}

function unitText(factors) {
  const of = list => list.map(([symbol, power]) => symbol + (power === 1 ? '' : power)).join('.');
  const list = [...factors].filter(([, power]) => power !== 0);
  if (list.some(([, power]) => !Number.isInteger(power))) return '';
  const upper = list.filter(([, power]) => power > 0), lower = list.filter(([, power]) => power < 0).map(([s, p]) => [s, -p]);
  return (of(upper) || '1') + (lower.length > 1 ? '/(' + of(lower) + ')' : lower.length > 0 ? '/' + of(lower) : '');
}

// The product of the powers of two units.
function unitProduct(a, powerA, b, powerB) {
  if (!a || !b) return '';
  const factors = new Map();
  for (const [unit, power] of [[a, powerA], [b, powerB]]) {
    for (const [symbol, p] of parseUnit(unit)) factors.set(symbol, (factors.get(symbol) ?? 0) + p * power);
  }
  return unitText(factors);
}

const sameUnit = (a, b) => a === b || unitText(new Map([...parseUnit(a)].sort())) === unitText(new Map([...parseUnit(b)].sort()));

// A difference of temperatures in degrees Celsius is in kelvin.
const differenceUnit = unit => /^(degC|°C)$/.test(unit) ? 'K' : unit;
