import http from 'node:http';
import type { Plugin } from 'rolldown';

/** Getters of `node:http` that load undici, a client of HTTP of half a megabyte. An `import` from `node:http` reads them all. */
const LOAD_UNDICI = new Set(['CloseEvent', 'MessageEvent', 'WebSocket']);
const ID = '\0lean-http';

/** For a bundle: the other exports of `node:http`, without an `import` of it. */
export const leanHttp: Plugin = {
  name: 'lean-http',
  resolveId: {
    filter: { id: /^(?:node:)?http$/u },
    handler: (_id, _importer, { kind }) =>
      kind === 'import-statement' ? { id: ID, moduleSideEffects: false } : undefined,
  },
  load: (id) => (id === ID ? otherExports() : undefined),
};

function otherExports(): string {
  const names = Object.keys(http).filter((name) => !LOAD_UNDICI.has(name) && name !== 'default');
  return `const http = process.getBuiltinModule('node:http');
export default http;
${names.map((name) => `export const ${name} = /* @__PURE__ */ (() => http.${name})();`).join('\n')}`;
}
