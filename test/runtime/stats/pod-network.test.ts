import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { figures, writeInterfaces } from './network-interfaces.ts';
import { container, SANDBOX, StatsBed, TIME } from './stats-bed.ts';

const GROUP = 'kubepods/poduid';

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
});
afterEach(() => bed.cleanUp());

describe.each([
  ['v1', () => bed.cgroups.mountV1('memory'), 'memory'],
  ['v2', () => bed.cgroups.mountV2('cpu io memory pids'), 'v2'],
] as const)('on cgroup %s, the network of a pod', (_version, mount, tree) => {
  beforeEach(() => {
    mount();
    writeInterfaces(bed, 'proc', { eth0: [7, 7, 7, 7] });
    writeInterfaces(bed, 'proc/100', { eth0: [1000, 1, 2000, 2], net1: [30, 0, 40, 0] });
    writeInterfaces(bed, 'proc/200', { eth0: [55, 0, 55, 0] });
    processes('sandbox', 100);
    processes('id', 200, 201);
  });

  const processes = (group: string, ...pids: number[]) =>
    bed.write(`${tree}/${GROUP}/${group}/cgroup.procs`, pids.map((pid) => `${pid}\n`).join(''));
  const runs = (networkMode: string) =>
    bed.runs({ sandboxes: [{ ...SANDBOX, networkMode }], containers: [container('id', 'main')] });

  test('is read through a process of the sandbox', async () => {
    runs('POD');
    expect((await bed.podStats()).network).toEqual({
      time: TIME,
      ...figures('eth0', [1000, 1, 2000, 2]),
      interfaces: [figures('eth0', [1000, 1, 2000, 2]), figures('net1', [30, 0, 40, 0])],
    });
  });

  test('is read through a process of a container if the sandbox has none', async () => {
    runs('POD');
    processes('sandbox');
    expect((await bed.podStats()).network).toMatchObject({ rxBytes: 55 });
    rmSync(bed.cgroups.path(tree, GROUP, 'sandbox'), { recursive: true });
    expect((await bed.podStats()).network).toMatchObject({ rxBytes: 55 });
  });

  test('is left out if the pod is on the network of the node', async () => {
    runs('NODE');
    expect(await bed.podStats()).not.toHaveProperty('network');
  });

  test('is left out if its processes are gone, or in another PID namespace', async () => {
    runs('POD');
    processes('sandbox', 0);
    processes('id', 4711);
    expect(await bed.podStats()).not.toHaveProperty('network');
  });

  test('is left out without a cgroup or a ready sandbox', async () => {
    bed.runs({
      sandboxes: [{ ...SANDBOX, ready: false }],
      containers: [container('id', 'main')],
    });
    expect(await bed.podStats()).not.toHaveProperty('network');
    bed.pods = [];
    runs('POD');
    rmSync(bed.cgroups.path(tree, 'kubepods'), { recursive: true });
    expect(await bed.podStats()).not.toHaveProperty('network');
  });

  test('is left out if only CPU and memory are asked for', async () => {
    runs('POD');
    expect(await bed.podStats({ onlyCPUAndMemory: true })).not.toHaveProperty('network');
    expect(await bed.podStats({ network: false })).not.toHaveProperty('network');
  });
});
