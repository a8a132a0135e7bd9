'use strict';

const { stripTypeScriptTypes } = require('node:module');

/** Jest transform: erases TypeScript syntax with Node's own parser. Types are checked by `npm run check`. */
module.exports = {
  process(source) {
    return { code: stripTypeScriptTypes(source) };
  },
};
