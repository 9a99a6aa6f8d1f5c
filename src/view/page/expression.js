// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Expressions of derived curves, from text to a tree:
//   sum      = product {("+" | "-") product}
//   product  = power {("*" | "/") power}
//   power    = ["-"] primary ["^" power]
//   primary  = number | variable ["@" result] | function "(" sum {"," sum} ")" | "(" sum ")"
// A variable is the longest name of the results that stands there, or any name in quotes. Text comes from users and links: it is
// bounded in length and depth.

const MAX_EXPRESSION = 2000, MAX_DEPTH = 60;
const FUNCTIONS = { // name -> number of arguments
  der: 1, integral: 1, mean: 2, abs: 1, sqrt: 1, exp: 1, log: 1, log10: 1, sin: 1, cos: 1, tan: 1, min: 2, max: 2,
};

class ExpressionError extends Error {}
const refuse = text => { throw new ExpressionError(text); };

// The longest key of a map (or set) that begins at a place of a text and does not end within a word.
function longestName(names, text, at) {
  longestName.sizes ??= new WeakMap();
  if (!longestName.sizes.has(names)) longestName.sizes.set(names, Math.max(0, ...function* () { for (const n of names.keys()) yield n.length; }()));
  for (let n = Math.min(text.length - at, longestName.sizes.get(names)); n > 0; n--) {
    const name = text.slice(at, at + n);
    if (names.has(name) && !(/[\p{L}\d_\])]$/u.test(name) && /^(?:[\p{L}\d_[]|\.[\p{L}\d_])/u.test(text.slice(at + n)))) return name;
  }
  return null;
}

const quotedName = name => /^[A-Za-z_][\w.[\]]*$/.test(name) && !Object.hasOwn(FUNCTIONS, name) ? name : "'" + name.replace(/'/g, "''") + "'";
const resultNames = new Map(results.map(r => [r.name, r]));

class Parser {
  constructor(text) { Object.assign(this, {text, at: 0, depth: 0}); }
  skip() { while (/\s/.test(this.text[this.at] ?? '')) this.at++; }
  takes(c) {
    this.skip();
    if (this.text[this.at] !== c) return false;
    this.at++;
    return true;
  }
  matches(pattern) {
    const m = pattern.exec(this.text.slice(this.at));
    if (m) this.at += m[0].length;
    return m;
  }
  rest() { return this.text.slice(this.at, this.at + 20) || 'the end'; }

  whole() {
    const tree = this.sum();
    this.skip();
    if (this.at < this.text.length) refuse('Not understood from here on: ' + this.rest());
    return tree;
  }
  sum() {
    if (++this.depth > MAX_DEPTH) refuse('The expression is nested too deeply.');
    let a = this.product();
    for (;;) {
      if (this.takes('+')) a = {op: '+', a, b: this.product()};
      else if (this.takes('-') || this.takes('−')) a = {op: '-', a, b: this.product()};
      else { this.depth--; return a; }
    }
  }
  product() {
    let a = this.power();
    for (;;) {
      if (this.takes('*')) a = {op: '*', a, b: this.power()};
      else if (this.takes('/')) a = {op: '/', a, b: this.power()};
      else return a;
    }
  }
  power() {
    if (++this.depth > MAX_DEPTH) refuse('The expression is nested too deeply.');
    let out;
    if (this.takes('-') || this.takes('−')) out = {op: 'neg', a: this.power()};
    else {
      const a = this.primary();
      out = this.takes('^') ? {op: '^', a, b: this.power()} : a;
    }
    this.depth--;
    return out;
  }
  primary() {
    this.skip();
    const quoted = this.matches(/^'((?:[^']|'')*)'/);
    if (quoted) return this.variable(quoted[1].replace(/''/g, "'"));
    const name = longestName(variables, this.text, this.at);
    if (name !== null && !/^[\d.]/.test(name)) {
      this.at += name.length;
      return this.variable(name);
    }
    const number = this.matches(/^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/);
    if (number) return {op: 'number', value: Number(number[0])};
    if (this.takes('(')) return this.closed(this.sum());
    const word = this.matches(/^[^\s+*/^(),@'-]+/)?.[0];
    if (word === undefined) refuse('A variable, a number or a function is missing before ' + this.rest());
    if (Object.hasOwn(FUNCTIONS, word) && this.takes('(')) return this.call(word);
    return this.variable(word);
  }
  closed(tree) { return this.takes(')') ? tree : refuse('A parenthesis is not closed before ' + this.rest()); }
  call(name) {
    const args = [this.sum()];
    while (this.takes(',')) args.push(this.sum());
    if (args.length !== FUNCTIONS[name]) refuse(name + '() has ' + FUNCTIONS[name] + (FUNCTIONS[name] === 1 ? ' argument.' : ' arguments.'));
    if (name === 'mean' && !(args[1].op === 'number' && args[1].value > 0)) refuse('mean(x, w): w is a time in seconds above 0, as in mean(x, 0.5).');
    return this.closed({op: 'call', name, args});
  }
  variable(name) {
    if (!variables.has(name) && name !== 'time') refuse('No variable is called ' + name + similar(name));
    if (!this.takes('@')) return {op: 'variable', name, result: null};
    this.skip();
    const quoted = this.matches(/^'((?:[^']|'')*)'/);
    const file = quoted ? quoted[1].replace(/''/g, "'") : longestName(resultNames, this.text, this.at);
    const result = resultNames.get(file);
    if (!result) refuse('No result is called ' + (file ?? this.rest()) + '; there are ' + results.map(r => r.name).join(', ') + '.');
    if (!quoted) this.at += file.length;
    if (name !== 'time' && !result.byName.has(name)) refuse(file + ' has no variable ' + name + '.');
    return {op: 'variable', name, result};
  }
}

function similar(name) {
  const last = name.split('.').at(-1).toLowerCase(), near = [];
  for (const known of variables.keys()) {
    if (near.length < 3 && last && known.toLowerCase().includes(last)) near.push(known);
  }
  return near.length > 0 ? ' (is it ' + near.join(' or ') + '?)' : '.';
}

function parseExpression(text) {
  if (text.length > MAX_EXPRESSION) refuse('The expression is longer than ' + MAX_EXPRESSION + ' characters.');
  return new Parser(text).whole();
}

function eachVariable(tree, call) {
  if (tree.op === 'variable') call(tree);
  for (const part of [tree.a, tree.b, ...(tree.args ?? [])]) if (part) eachVariable(part, call);
}
