import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { EFFECTIVE_GATES } from '../../../../src/agent/policies/node/feature-gates.ts';
import {
  knownFeatureGates,
  neededFeatureGates,
} from '../../../../src/agent/policies/node/known-feature-gates.ts';

/** Recorded from a kubelet by `npm run update:kubelet-facts`: name, stage, default, and whether it is locked. */
const FACTS = JSON.parse(
  readFileSync(new URL('../../config/kubelet-facts.json', import.meta.url), 'utf8'),
) as { readonly gates: readonly (readonly [string, string, string, string])[] };

test('the gates are those of the kubelet, with its stages, defaults and locks', () => {
  const known = [...knownFeatureGates()].map(([name, { stage, byDefault, locked }]) => [
    name,
    stage,
    String(byDefault),
    locked ? 'locked' : '',
  ]);
  expect(known.sort()).toEqual(FACTS.gates);
});

test('gates that others need, and those that have an effect here, are gates themselves', () => {
  const needed = neededFeatureGates().flatMap(([name, needs]) => [name, ...needs]);
  const known = knownFeatureGates();
  expect([...needed, ...EFFECTIVE_GATES].filter((name) => !known.has(name))).toEqual([]);
});

test('each gate that is documented to have an effect is read by the code', () => {
  const source = fileURLToPath(new URL('../../../../src', import.meta.url));
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !/features\/(?:known-)?feature-gates\.ts$/u.test(name),
  );
  const code = files.map((name) => readFileSync(join(source, name), 'utf8')).join('\n');
  expect(EFFECTIVE_GATES.filter((gate) => !code.includes(`'${gate}'`))).toEqual([]);
});
