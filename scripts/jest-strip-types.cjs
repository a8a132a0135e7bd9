'use strict';

const { createHash } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { stripTypeScriptTypes } = require('node:module');
const { version } = require('node:process');

/**
 * In a test of Jest, every use of a global is a slow question to the sandbox. Each module gets these as constants instead, which takes
 * two fifths off the CPU time of a simulation. What fake timers replace is not among them, nor what a test may replace.
 */
const CONSTANTS = [
  ...[
    'AbortController',
    'AbortSignal',
    'Array',
    'BigInt',
    'Boolean',
    'Buffer',
    'Error',
    'JSON',
    'Map',
    'Math',
  ],
  ...['Number', 'Object', 'Promise', 'RegExp', 'Set', 'String', 'Symbol', 'WeakMap', 'WeakSet'],
];

const OWN_SOURCE = readFileSync(require.resolve('./jest-strip-types.cjs'));

/** Jest transform: erases TypeScript syntax with Node's own parser. Types are checked by `npm run check`. */
module.exports = {
  process(source) {
    const code = stripTypeScriptTypes(source);
    const words = new Set(code.match(/\b[A-Z]\w+/g));
    const used = CONSTANTS.filter((name) => words.has(name));
    // On the first line: the numbers of the lines stay as they are.
    return { code: used.length === 0 ? code : `const { ${used.join(', ')} } = globalThis; ${code}` };
  },

  /** Without this, Jest would take from its cache what an older version of this file has made. */
  getCacheKey(source, fileName, { configString, instrument }) {
    const hash = createHash('sha256').update(OWN_SOURCE);
    return hash.update(JSON.stringify([version, source, fileName, configString, instrument])).digest('hex');
  },
};
