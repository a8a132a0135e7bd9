import { describe, expect, test } from '@jest/globals';
import {
  lackedObject,
  needlessWatch,
  outdatedVolume,
} from '../../../../src/simulation/judges/contents/content-check.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { apiPod } from '../../api/api-bed.ts';
import { ContentsBed, UID, withVariables, withVolume } from './contents-bed.ts';

const podOf = ({ spec }: ContentsBed, labels: Record<string, string> = {}): Pod => ({
  metadata: { name: 'web', namespace: 'default', uid: UID, labels },
  spec,
});

describe('a pod may wait', () => {
  test.each([
    ['a volume', withVolume({ configMap: { name: 'config' } })],
    ['all variables of an object', withVariables({ envFrom: [{ configMapRef: { name: 'config' } }] })],
    [
      'a variable',
      withVariables({ env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'config', key: 'a' } } }] }),
    ],
  ])('as long as what it requires for %s is missing', (_, spec) => {
    const bed = new ContentsBed();
    bed.spec = spec;
    expect(lackedObject(bed, podOf(bed))).toBe('config');
    bed.set('configmaps', 'config', { a: '1' });
    expect(lackedObject(bed, podOf(bed))).toBeUndefined();
    bed.set('configmaps', 'config', undefined);
    expect(lackedObject(bed, podOf(bed))).toBe('config');
  });

  test('not for what is optional, and not for volumes that no container mounts', () => {
    const bed = new ContentsBed();
    bed.spec = withVolume({ configMap: { name: 'config', optional: true } });
    expect(lackedObject(bed, podOf(bed))).toBeUndefined();
    const { volumes } = withVolume({ configMap: { name: 'config' } });
    bed.spec = { containers: [{ name: 'main', image: 'app' }], ...(volumes && { volumes }) };
    expect(lackedObject(bed, podOf(bed))).toBeUndefined();
  });
});

describe('files follow', () => {
  const STALE = 'its volume contents has not what config has';

  test('their object, unless it is gone', () => {
    const bed = new ContentsBed();
    bed.spec = withVolume({ configMap: { name: 'config' } });
    bed.set('configmaps', 'config', { a: '1' });
    bed.write({ a: '1' });
    expect(outdatedVolume(bed, podOf(bed))).toBeUndefined();
    bed.set('configmaps', 'config', { a: '2' });
    expect(outdatedVolume(bed, podOf(bed))).toBe(STALE);
    bed.set('configmaps', 'config', undefined);
    expect(outdatedVolume(bed, podOf(bed))).toBeUndefined();
  });

  test('an immutable object as it was, if it is made anew', () => {
    const bed = new ContentsBed();
    bed.spec = withVolume({ configMap: { name: 'config' } });
    bed.set('configmaps', 'config', { a: '1' }, true);
    bed.set('configmaps', 'config', undefined);
    bed.set('configmaps', 'config', { a: '2' });
    bed.write({ a: '1' });
    expect(outdatedVolume(bed, podOf(bed))).toBeUndefined();
    bed.write({ a: '3' });
    expect(outdatedVolume(bed, podOf(bed))).toBe(STALE);
  });

  test('what is optional and goes away', () => {
    const bed = new ContentsBed();
    const items = [{ key: 'a', path: 'a' }];
    bed.spec = withVolume({ configMap: { name: 'config', optional: true, items } });
    bed.write({ a: '1' });
    expect(outdatedVolume(bed, podOf(bed))).toBe(STALE);
  });

  test('the labels of the pod', () => {
    const bed = new ContentsBed();
    bed.spec = withVolume({ projected: { sources: [] } });
    bed.write({ labels: 'version="1"' });
    expect(outdatedVolume(bed, podOf(bed, { version: '1' }))).toBeUndefined();
    expect(outdatedVolume(bed, podOf(bed, { version: '2' }))).toBe('its volume contents has not its labels');
  });
});

const POD = apiPod('web', { imagePullSecrets: [{ name: 'key' }] });

const OWN = 'secrets/default/key';

test.each([
  ['what a pod refers to', [OWN, 'services//', 'pods//'], undefined],
  [
    'what no pod refers to',
    [OWN, 'configmaps/default/a'],
    'configmaps/default/a is watched, and no pod refers to it',
  ],
  ['the same twice', [OWN, OWN], `${OWN} is watched twice`],
])('a node watches %s', (_, watched, what) => {
  expect(needlessWatch(watched, [POD])).toBe(what);
});
