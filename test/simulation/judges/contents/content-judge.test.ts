import { describe, expect, test } from '@jest/globals';
import { ContentsBed, withVariables, withVolume } from './contents-bed.ts';

const NO_VERSION = (name: string) =>
  `uid-of-web: main starts, and has contents of no version of ${name} that it could have`;

describe('a container starts', () => {
  test('with the files of any version that its objects have had', () => {
    const bed = new ContentsBed();
    bed.spec = withVolume({ configMap: { name: 'config' } });
    bed.set('configmaps', 'config', { a: '1' });
    bed.set('configmaps', 'config', { a: '2', b: '2' });
    bed.write({ a: '1' });
    expect(bed.start()).toEqual([]);
    bed.write({ a: '2', b: '2' });
    expect(bed.start()).toEqual([]);
    bed.write({ a: '1', b: '2' });
    expect(bed.start()).toEqual([NO_VERSION('config (configmaps)')]);
  });

  test('not before its volume has files', () => {
    const bed = new ContentsBed();
    bed.spec = withVolume({ secret: { secretName: 'secret' } });
    expect(bed.start()).toEqual(['uid-of-web: main starts, and has no files in its volume contents']);
    bed.write({});
    expect(bed.start()).toEqual([NO_VERSION('secret (secrets)')]);
  });

  test('without the files of what is optional and missing', () => {
    const bed = new ContentsBed();
    const items = [{ key: 'b', path: 'config/b' }];
    bed.spec = withVolume({ configMap: { name: 'config', optional: true, items } });
    bed.write({});
    expect(bed.start()).toEqual([]);
    bed.set('configmaps', 'config', { a: '1' });
    expect(bed.start()).toEqual([]);
    bed.write({ 'config/b': '1' });
    expect(bed.start()).toEqual([NO_VERSION('config (configmaps)')]);
  });

  test('with the files of all sources of a projected volume', () => {
    const bed = new ContentsBed();
    const items = (path: string) => [{ key: 'a', path }];
    const configMap = { name: 'config', items: items('config/a') };
    const secret = { name: 'secret', items: items('secret/a') };
    bed.spec = withVolume({ projected: { sources: [{ configMap }, { secret }] } });
    bed.set('configmaps', 'config', { a: '1' });
    bed.set('secrets', 'secret', { a: btoa('2') });
    bed.write({ 'config/a': '1', 'secret/a': '2' });
    expect(bed.start()).toEqual([]);
    bed.write({ 'config/a': '1' });
    expect(bed.start()).toEqual([NO_VERSION('secret (secrets)')]);
  });

  test('with its variables', () => {
    const bed = new ContentsBed();
    bed.spec = withVariables({
      env: [{ name: 'ONE', valueFrom: { secretKeyRef: { name: 'secret', key: 'a' } } }],
      envFrom: [{ prefix: 'ALL_', configMapRef: { name: 'config', optional: true } }],
    });
    expect(bed.start()).toEqual([NO_VERSION('secret (secrets)')]);
    bed.set('secrets', 'secret', { a: btoa('1') });
    expect(bed.start({ ONE: '1' })).toEqual([]);
    bed.set('configmaps', 'config', { a: '2' });
    expect(bed.start({ ONE: '1', ALL_a: '2' })).toEqual([]);
    expect(bed.start({ ONE: '3', ALL_a: '2' })).toEqual([NO_VERSION('secret (secrets)')]);
  });

  test('knowing the services of the cluster, unless it is of a static pod', () => {
    const bed = new ContentsBed();
    bed.spec = withVariables({});
    const ignorant = { KUBERNETES_SERVICE_HOST: '' };
    expect(bed.start(ignorant)).toEqual(['uid-of-web: main starts, and knows no services']);
    bed.isStatic = true;
    expect(bed.start(ignorant)).toEqual([]);
  });
});
