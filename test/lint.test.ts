/** What the linter refuses where files of pods are handled. */
import { expect, test } from '@jest/globals';
import { Linter } from 'eslint';

/** It has no types. */
const CONFIG = new URL('../eslint.config.js', import.meta.url).href;
const { default: config } = (await import(CONFIG)) as { default: readonly Linter.Config[] };
const RULES = ['no-restricted-syntax', 'no-restricted-imports'];
/** The rules alone: what needs types takes half a minute. */
const restrictions = config.flatMap(({ files, ignores, rules = {} }) => {
  const own = Object.entries(rules).filter(([name]) => RULES.includes(name));
  if (own.length === 0 || files === undefined) return [];
  return [{ files, ...(ignores && { ignores }), rules: Object.fromEntries(own) }];
});

const refused = (file: string, code: string) =>
  new Linter().verify(code, restrictions, { filename: file }).map(({ ruleId }) => ruleId);

test.each([
  'rm(path, { recursive: true, force: true });',
  'rmSync(path, { force: true, recursive: true });',
  'fs.promises.rm(path, { recursive });',
  'cp(from, to, { recursive: true });',
])('a removal or a copy that walks by paths: %s', (code) => {
  for (const file of ['src/embedded/containers/x.ts', 'src/agent/server/x.ts', 'src/run/pod-sources.ts'])
    expect(refused(file, code)).toEqual(['no-restricted-syntax']);
  expect(refused('src/system/files/remove-tree.ts', code)).toEqual([]);
  expect(refused('src/agent/runtime/logs/x.ts', 'rm(path, { force: true });')).toEqual([]);
});

test.each(['chown', 'chmod', 'cp', 'readFile', 'writeFile', 'opendir'])(
  'a call that follows links, in the rooms of the files of pods: %s',
  (name) => {
    const code = `import { ${name} } from 'node:fs/promises';`;
    for (const room of ['volumes/claims', 'logs', 'stats/disks'])
      expect(refused(`src/agent/runtime/${room}/x.ts`, code)).toEqual(['no-restricted-imports']);
    for (const room of ['containers', 'streams'])
      expect(refused(`src/embedded/${room}/x.ts`, code)).toEqual(['no-restricted-imports']);
    expect(refused('src/agent/config/x.ts', code)).toEqual([]);
  },
);

test('an actor that the page could not find', () => {
  const code = "import { createActor, setup } from 'xstate';";
  expect(refused('src/agent/actors/node/x.ts', code)).toEqual(['no-restricted-syntax']);
  expect(refused('src/agent/actors/node/x.ts', "import { createActor } from '../agent-actor.ts';")).toEqual(
    [],
  );
  expect(refused('src/agent/actors/pods/pod-registry.ts', code)).toEqual([]);
});

test.each(['system._register = own;', 'const { _nodes } = snapshot;'])(
  'what is private to a library: %s',
  (code) => {
    expect(refused('src/agent/actors/x.ts', code)).toEqual(['no-restricted-syntax']);
    expect(refused('src/recorder/replay/x.ts', code)).toEqual(['no-restricted-syntax']);
    expect(refused('src/agent/actors/x.ts', 'const { _transitions } = step;')).toEqual([]);
  },
);
