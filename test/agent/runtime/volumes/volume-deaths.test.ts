/** An agent that is killed at any step of mounting or unmounting: the next one continues, and in the end nothing is left. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { describeAsRoot, podWith, VolumeBed } from './bed.ts';
import { dieAt, stepsOf } from './dying.ts';
import { managerOn, mountAll, removeAll } from './volume-managers.ts';

let bed: VolumeBed;
beforeEach(() => void (bed = new VolumeBed()));
afterEach(() => bed.remove());

const POD = podWith(
  [
    { configMap: { name: 'settings' } },
    {
      projected: {
        sources: [{ secret: { name: 'login' } }, { serviceAccountToken: { path: 'token' } }],
      },
    },
    { emptyDir: { medium: 'Memory' } },
  ],
  {
    containers: [
      {
        name: 'main',
        volumeMounts: [
          { name: 'v0', mountPath: '/data0' },
          { name: 'v1', mountPath: '/data1' },
          { name: 'v2', mountPath: '/data2', subPath: 'made/here' },
          { name: 'v0', mountPath: '/data3', subPath: 'color' },
        ],
      },
    ],
    securityContext: { fsGroup: 2345 },
  },
);

function expectMounted([settings = '', login = '', made = '', color = '']: readonly string[]): void {
  const read = (...path: readonly string[]) => readFileSync(join(...path), 'utf8');
  expect([read(settings, 'size'), read(login, 'password'), read(login, 'token'), read(color)]).toEqual([
    ...['7', 'secret', 'token', 'blue'],
  ]);
  writeFileSync(join(made, 'written'), 'by the container');
  const memory = join(bed.podDir(), 'volumes/kubernetes.io~empty-dir/v2');
  expect(read(memory, 'made/here/written')).toBe('by the container');
  expect(bed.mounts()).toHaveLength(4);
}

describeAsRoot('an agent that is killed', () => {
  const task = (name: 'mount' | 'remove') => ({ task: name, rootDir: bed.rootDir, pod: POD }) as const;
  const steps = (name: 'mount' | 'remove') => stepsOf(task(name), bed.podDir());

  test('at any step of mounting is continued by the next one, and nothing is left after the pod', async () => {
    mkdirSync(bed.rootDir);
    const all = await steps('mount');
    expect(all).toEqual(expect.arrayContaining(['start mount', 'run mount']));
    await removeAll(managerOn(bed.rootDir), POD);
    for (const index of all.keys()) {
      expect(await dieAt(index + 1, task('mount'), bed.podDir())).toBe(true);
      const next = managerOn(bed.rootDir);
      // Some pods are gone by then.
      if (index % 4 !== 3) expectMounted(await mountAll(next, POD));
      await removeAll(next, POD);
      expect([index, bed.mounts(), existsSync(bed.podDir())]).toEqual([index, [], false]);
    }
  });

  test('at any step of unmounting is continued by the next one', async () => {
    mkdirSync(bed.rootDir);
    await mountAll(managerOn(bed.rootDir), POD);
    for (const index of (await steps('remove')).keys()) {
      await mountAll(managerOn(bed.rootDir), POD);
      expect(await dieAt(index + 1, task('remove'), bed.podDir())).toBe(true);
      await removeAll(managerOn(bed.rootDir), POD);
      expect([index, bed.mounts(), existsSync(bed.podDir())]).toEqual([index, [], false]);
    }
  });
});
