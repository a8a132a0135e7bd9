import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PodDNSSource, ResolvConf } from '../../../../src/agent/runtime/node/pod-dns-source.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { recorderOf, testContext } from '../../../support/test-context.ts';

const POD: Pod = {
  metadata: { uid: 'uid-web', name: 'web', namespace: 'default' },
  spec: { dnsPolicy: 'ClusterFirst', containers: [{ name: 'main', image: 'app:1' }] },
};

test('a pod that asks for a cluster DNS which the node does not have gets one event, until it is forgotten', async () => {
  const events: string[] = [];
  const recorder = recorderOf({
    event: (pod, type, reason) => void events.push(`${pod.name} ${type} ${reason}`),
  });
  const settings = { clusterDNS: [], clusterDomain: '' };
  const source = new PodDNSSource(testContext({ recorder }), settings, new ResolvConf(''));
  expect(await source.of(POD)).toEqual({ clusterDNS: [], clusterDomain: '', resolvConf: undefined });
  await source.of(POD);
  expect(events).toEqual(['web Warning MissingClusterDNS']);
  source.forget('uid-web');
  await source.of(POD);
  expect(events).toHaveLength(2);
});

describe('node resolv conf', () => {
  let dir: string;
  let path: string;

  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'resolv-'));
    path = join(dir, 'resolv.conf');
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  /** At a time of its own, so that it is not the file that it was. */
  function write(text: string, mtimeSeconds: number): void {
    writeFileSync(path, text);
    utimesSync(path, mtimeSeconds, mtimeSeconds);
  }

  describe("the node's resolver configuration", () => {
    test('is read, and read again only once the file has changed', async () => {
      const file = new ResolvConf(path);
      write('nameserver 192.0.2.1\nsearch example.com', 1000);
      const first = await file.read();
      expect(first).toEqual({ servers: ['192.0.2.1'], searches: ['example.com'], options: [] });
      expect(await file.read()).toBe(first);
      write('nameserver 192.0.2.2\nsearch example.com', 2000);
      expect((await file.read())?.servers).toEqual(['192.0.2.2']);
    });

    test('is nothing where the path is empty', async () => {
      expect(await new ResolvConf('').read()).toBeUndefined();
    });

    test('that is not there is an error that names the file and the setting', async () => {
      const missing = join(dir, 'missing');
      await expect(new ResolvConf(missing).read()).rejects.toMatchObject({
        kind: 'FailedPrecondition',
        message: expect.stringContaining(`resolvConf ${missing}: ENOENT`),
      });
    });

    test('that is broken is an error that names the line, until it is mended', async () => {
      const file = new ResolvConf(path);
      write('nameserver', 3000);
      await expect(file.read()).rejects.toThrow(`resolvConf ${path}: line 1: nameserver has no address`);
      write('nameserver 192.0.2.3', 4000);
      expect((await file.read())?.servers).toEqual(['192.0.2.3']);
    });
  });
});
