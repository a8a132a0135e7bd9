import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { nodeRoutes } from '../../../src/run/daemon/serve-node.ts';
import type { NodeApi } from '../../../src/agent/server/routes/node-api.ts';

const DOCUMENT = readFileSync(new URL('../../../docs/server.md', import.meta.url), 'utf8');

/** `/run/:namespace/*` is `/run/NAMESPACE/*`. */
function shown(path: string): string {
  return path.replaceAll(/:(\w+)/gu, (_, name: string) => name.toUpperCase());
}

test('docs/server.md has every path of the node, and its methods', () => {
  const rows = DOCUMENT.split('\n').filter((line) => line.startsWith('| `/'));
  const missing = nodeRoutes({} as NodeApi).filter(({ path, methods }) => {
    const row = rows.find((line) => line.includes(`\`${shown(path)}\``));
    const [, , documented = ''] = row?.split('|') ?? [];
    const expected = shown(path) === '/debug/flags/v' ? 'PUT' : (methods?.join(', ') ?? 'any');
    return documented.trim() !== expected;
  });
  expect(missing.map(({ path, methods }) => ({ path, methods }))).toEqual([]);
});

test('paths of features that are switched off are not served', () => {
  const gates = { ComponentFlagz: false, ComponentStatusz: false, ContainerCheckpoint: false };
  const paths = (given: typeof gates | undefined) => nodeRoutes({} as NodeApi, given).map(({ path }) => path);
  const left = new Set(paths(gates));
  expect(paths(undefined).filter((path) => !left.has(path))).toEqual([
    '/statusz',
    '/flagz',
    '/checkpoint/:namespace/:pod/:container',
  ]);
});
