/** The files of the page. They are part of the package: nothing is loaded from elsewhere. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answer, type Route } from '../../agent/server/routes/route.ts';

/** In `dist/`, all files of the agent lie beside the folder. */
export const PAGE_FOLDER = fileURLToPath(new URL('ui/', import.meta.url));
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/charts.json': ['charts.json', 'application/json'],
  '/icon.svg': ['icon.svg', 'image/svg+xml'],
};

/** Forbids inline scripts and styles, and anything from another host. */
export const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
} as const;

export function fileRoutes(folder = PAGE_FOLDER): readonly Route[] {
  return Object.entries(FILES).map(([path, [file, type]]) => ({
    path,
    methods: ['GET', 'HEAD'],
    handle: async (_, response) => {
      const text = await readFile(join(folder, file));
      answer(response, 200, text, { ...PAGE_HEADERS, 'Content-Type': type });
    },
  }));
}
