import http from 'node:http';
import type { Plugin } from 'esbuild';

/** Getters of `node:http` that load undici, a client of HTTP of half a megabyte. An `import` from `node:http` reads them all. */
const LOAD_UNDICI = new Set(['CloseEvent', 'MessageEvent', 'WebSocket']);

/** For a bundle: the other exports of `node:http`, without an `import` of it. */
export const leanHttp: Plugin = {
  name: 'lean-http',
  setup: (build) => {
    build.onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'http', namespace: 'lean', sideEffects: false } : undefined,
    );
    build.onLoad({ filter: /^http$/, namespace: 'lean' }, () => {
      const names = Object.keys(http).filter((name) => !LOAD_UNDICI.has(name) && name !== 'default');
      const contents = `const http = process.getBuiltinModule('node:http');
export default http;
${names.map((name) => `export const ${name} = /* @__PURE__ */ (() => http.${name})();`).join('\n')}`;
      return { contents };
    });
  },
};
