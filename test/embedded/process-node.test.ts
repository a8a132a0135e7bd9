import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartTimes } from '../../src/agent/runtime/pods/start-times.ts';
import { processNode } from '../../src/embedded/process-node.ts';
import type { ApiObjects } from '../../src/types/api-objects.ts';
import type { PodNode } from '../../src/agent/runtime/node/pod-node.ts';
import { ALL_PODS } from '../support/pod-search.ts';
import { testPod } from '../support/pods.ts';
import { testContext } from '../support/test-context.ts';

const FIRST = '2030-01-01T00:00:00Z';
const LATER = '2030-01-01T01:00:00Z';

const pod = testPod();
const { uid } = pod.metadata;
const reference = { uid, name: 'web', namespace: 'default' };

let dir: string;
let podLogsDir: string;
let node: PodNode;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-node-'));
  podLogsDir = join(dir, 'logs');
  mkdirSync(podLogsDir);
  const startTimes = new StartTimes(testContext(), join(dir, 'pods'));
  node = processNode({ hostIPs: ['192.0.2.7'], podLogsDir, startTimes });
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A log as the monitor leaves it. */
const writeLog = (podFolder: string): string => {
  const folder = join(podLogsDir, podFolder, 'main');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, '0.log'), '');
  return join(podLogsDir, podFolder);
};

describe('the node of the embedded runtime', () => {
  test('has probes and hooks ask the loopback address, not the address of the pod', () => {
    expect(node.podIP(pod, undefined as never)).toBe('127.0.0.1');
  });

  test('rejects no pod, but names the fields that have no effect', () => {
    const container = { name: 'main', resources: { limits: { cpu: '1' } } };
    const limited = { ...pod, spec: { ...pod.spec, containers: [container], volumes: [{ name: 'data' }] } };
    expect(node.admit(limited, new AbortController().signal)).toBeUndefined();
    expect(node.unsupportedFields(limited)).toEqual(
      expect.arrayContaining([expect.stringContaining('volumes'), expect.stringContaining('limits')]),
    );
    expect(node.unsupportedFields(pod)).toEqual([]);
  });

  test("has every image, whose user is the agent's own", async () => {
    const image = await node.image(
      pod,
      { name: 'main', image: 'web:1' },
      undefined as never,
      undefined as never,
    );
    expect(image).toEqual({ imageRef: 'web:1', uid: process.getuid?.() });
  });

  test('makes a sandbox with the log folder of the pod', async () => {
    const { config } = await node.sandbox(pod, 2, true);
    expect(config).toMatchObject({
      metadata: { ...reference, attempt: 2 },
      logDirectory: join(podLogsDir, `default_web_${uid}`),
    });
  });

  test('gives a pod with setHostnameAsFQDN its name in the domain of the cluster, as far as Linux could store it', async () => {
    const named = processNode({ hostIPs: [], podLogsDir, clusterDomain: 'cluster.test' });
    const spec = { ...pod.spec, subdomain: 'shop', setHostnameAsFQDN: true };
    const { config } = await named.sandbox({ ...pod, spec: { ...spec, hostname: 'a' } }, 0, true);
    expect(config.hostname).toBe('a.shop.default.svc.cluster.test');
    const tooLong = { ...pod, spec: { ...spec, hostname: 'a'.repeat(40) } };
    await expect(named.sandbox(tooLong, 0, true)).rejects.toThrow(
      '(64 characters is the max, 70 characters requested)',
    );
  });

  test('keeps the first start time of a pod until the pod is removed', async () => {
    expect(await node.startTime(uid, FIRST)).toBe(FIRST);
    expect(await node.startTime(uid, LATER)).toBe(FIRST);
    await node.remove(reference);
    expect(await node.startTime(uid, LATER)).toBe(LATER);
  });

  test('removes the logs of a pod with it, and of no other pod', async () => {
    const [own, other] = [writeLog(`default_web_${uid}`), writeLog('default_db_uid-of-db')];
    await node.remove(reference);
    expect([existsSync(own), existsSync(other)]).toEqual([false, true]);
  });

  test('knows the pods on disk, by their start time or their logs', async () => {
    await node.startTime(uid, FIRST);
    expect(await node.podsOnDisk(ALL_PODS)).toEqual([{ uid, name: '', namespace: '' }]);
    writeLog(`default_web_${uid}`);
    expect(await node.podsOnDisk(ALL_PODS)).toEqual([reference]);
  });

  test('knows and removes what an agent with a CRI runtime has left of a pod, and no other folder', async () => {
    const podsDir = join(dir, 'pods');
    const own = processNode({ hostIPs: [], podLogsDir, podsDir });
    const make = (path: string) => mkdirSync(join(podsDir, path), { recursive: true });
    make('uid-of-former/volumes/kubernetes.io~empty-dir/data/deep');
    make('uid-of-former/volume-subpaths/data/main/0');
    make('uid-of-known/volumes');
    make('somebody-elses/photos');
    make(`default_web_${uid}/volumes`);
    const isKnown = (one: string) => one === 'uid-of-known';
    const former = { uid: 'uid-of-former', name: '', namespace: '' };
    expect(await own.podsOnDisk({ ...ALL_PODS, isKnown })).toEqual([former]);
    await own.remove(former);
    await own.remove({ uid: 'somebody-elses', name: '', namespace: '' });
    await own.remove({ uid: 'uid-of-none', name: '', namespace: '' });
    expect(readdirSync(podsDir).sort()).toEqual([`default_web_${uid}`, 'somebody-elses', 'uid-of-known']);
  });

  test('without records of start times has the present time, and no pods on disk', async () => {
    const forgetful = processNode({ hostIPs: [], podLogsDir });
    expect(await forgetful.startTime(uid, FIRST)).toBe(FIRST);
    expect(await forgetful.startTime(uid, LATER)).toBe(LATER);
    expect(await forgetful.podsOnDisk(ALL_PODS)).toEqual([]);
  });

  test('reports when the objects of a pod are needed, and when no longer', async () => {
    const told: string[] = [];
    const objects: Partial<ApiObjects> = {
      registerPod: ({ metadata }) => void told.push(`register ${metadata.uid}`),
      forgetPod: (forgotten) => void told.push(`forget ${forgotten}`),
    };
    const asking = processNode({ hostIPs: [], podLogsDir, objects: objects as ApiObjects });
    await asking.prepare(pod, new AbortController().signal);
    await asking.release(uid);
    expect(told).toEqual([`register ${uid}`, `forget ${uid}`]);
  });
});
