/**
 * Records the flags and feature gates of a real kubelet for the tests: `KUBELET=/usr/bin/kubelet npm run update:kubelet-facts`.
 * The flags come from its help. The help has no gates that are GA or deprecated, so these are set and its complaints are read.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { knownFeatureGates } from '../src/agent/policies/node/known-feature-gates.ts';
import { formatted } from './formatted.ts';

const FILE = new URL('../test/agent/config/kubelet-facts.json', import.meta.url);
const { KUBELET } = process.env;
if (KUBELET === undefined) throw new Error('KUBELET must name the program of a kubelet');

function kubelet(...args: string[]): string {
  const { stdout, stderr } = spawnSync(KUBELET ?? '', args, { encoding: 'utf8' });
  return stdout + stderr;
}

const help = kubelet('--help');
const FLAG = /^ {2,6}(?:-(\w), )?--([\w-]+)(?:\[=[^\]]*\])?(?: (\S+))? {2,}(.*(?:\n {10,}.*)*)$/gmu;
const flags = [...help.matchAll(FLAG)].map(([, , name = '', type = 'bool', usage = '']) => {
  const [now = '', deprecated] = usage.replaceAll(/\s+/gu, ' ').split(' (DEPRECATED: ');
  const [, quoted, plain] = /\(default (?:"([^"]*)"|([^)"]*))\)$/u.exec(now) ?? [];
  const byDefault =
    quoted ?? plain ?? { bool: 'false', RuntimeDefault: 'false', int32: '0', int: '0' }[type] ?? '';
  return [
    name,
    type === 'RuntimeDefault' ? 'bool' : type,
    byDefault,
    deprecated === undefined ? '' : 'deprecated',
  ];
});

const GATE = /^\s+(\w+)=true\|false \((\w+) - default=(\w+)\)/gmu;
const inHelp = [...help.matchAll(GATE)]
  .filter(([, name]) => name !== 'AllAlpha' && name !== 'AllBeta')
  .map(([, name = '', stage = '', byDefault = '']) => [name, stage, byDefault, '']);
const others = [...knownFeatureGates()].filter(([name]) => !inHelp.some(([known]) => known === name));
const isTrue = new Map(others.map(([name, { byDefault }]) => [name, byDefault]));

/** All gates at once, each set to its default or away from it. */
function complaints(isDefault: boolean): string {
  return kubelet('--feature-gates', [...isTrue].map(([name, on]) => `${name}=${on === isDefault}`).join(','));
}

const refused = new Map(
  [...complaints(false).matchAll(/cannot set feature gate (\w+) to \w+, feature is locked to (\w+)/gu)].map(
    ([, name = '', value = '']) => [name, value],
  ),
);
const stages = [...complaints(true).matchAll(/setting (GA|deprecated) feature gate.*featureGate="(\w+)"/gu)];
const warned = stages.map(([, stage = '', name = '']) => {
  const locked = refused.get(name);
  return [
    name,
    stage.toUpperCase(),
    locked ?? String(isTrue.get(name)),
    locked === undefined ? '' : 'locked',
  ];
});

const gates = [...new Map([...inHelp, ...warned].map((gate) => [gate[0], gate])).values()].sort();
const facts = { version: kubelet('--version').trim(), flags: flags.sort(), gates };
writeFileSync(FILE, await formatted(FILE, JSON.stringify(facts)));
