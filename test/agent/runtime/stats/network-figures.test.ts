import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { figures, HEAD, writeInterfaces } from './network-interfaces.ts';
import { container, SANDBOX, StatsBed, TIME } from './stats-bed.ts';

describe('network figures', () => {
  const ROUTE_HEAD = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n';

  let bed: StatsBed;
  beforeEach(() => {
    bed = new StatsBed();
  });
  afterEach(() => bed.cleanUp());

  const ofNode = async () => (await bed.summary()).node.network;

  describe('the network of the node', () => {
    test('has all interfaces, and the counts of eth0', async () => {
      writeInterfaces(bed, 'proc', { ens5: [10, 1, 20, 2], eth0: [1000, 3, 2000, 4] });
      expect(await ofNode()).toEqual({
        time: TIME,
        ...figures('eth0', [1000, 3, 2000, 4]),
        interfaces: [figures('ens5', [10, 1, 20, 2]), figures('eth0', [1000, 3, 2000, 4])],
      });
    });

    test('leaves out the interfaces of pods and containers', async () => {
      writeInterfaces(bed, 'proc', {
        eth0: [1, 0, 1, 0],
        veth1a2b: [5, 0, 5, 0],
        docker0: [5, 0, 5, 0],
        nerdctl0: [5, 0, 5, 0],
        cni0: [2, 0, 2, 0],
      });
      expect((await ofNode())?.interfaces?.map(({ name }) => name)).toEqual(['eth0', 'cni0']);
    });

    test('reads counts that follow the name without a space', async () => {
      bed.write('proc/net/dev', `${HEAD}  eth0:123456789 1 2 0 0 0 0 0 987654321 1 3 0 0 0 0 0\n`);
      expect(await ofNode()).toMatchObject(figures('eth0', [123456789, 2, 987654321, 3]));
    });

    test.each<[what: string, files: Readonly<Record<string, string>>, expected: string | undefined]>([
      [
        'that of the default route with the lowest metric',
        {
          route: `${ROUTE_HEAD}${[
            'ens7\t0017660A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
            'ens5\t00000000\t010200C0\t0003\t0\t0\t200\t00000000\t0\t0\t0',
            'ens6\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0',
          ].join('  \n')}\n`,
        },
        'ens6',
      ],
      [
        'that of the default route of IPv6 if IPv4 has none',
        {
          route: ROUTE_HEAD,
          ipv6_route: `${[
            `${'f'.repeat(32)} 40 ${'0'.repeat(32)} 00 ${'0'.repeat(32)} 00000001 00000001 00000000 00000001 ens5`,
            `${'0'.repeat(32)} 00 ${'0'.repeat(32)} 00 ${'f'.repeat(32)} 00000400 00000003 00000000 00000003 ens6`,
            `${'0'.repeat(32)} 00 ${'0'.repeat(32)} 00 ${'0'.repeat(32)} ffffffff 00000001 00000000 00200200 lo`,
          ].join('\n')}\n`,
        },
        'ens6',
      ],
      ['none where there is no default route', { route: ROUTE_HEAD }, undefined],
      ['none where routes cannot be read', {}, undefined],
    ])('without eth0 has as its default interface %s', async (_what, files, expected) => {
      writeInterfaces(bed, 'proc', { ens5: [1, 0, 2, 0], ens6: [3, 0, 4, 0], ens7: [5, 0, 6, 0] });
      for (const [name, text] of Object.entries(files)) bed.write(`proc/net/${name}`, text);
      const network = await ofNode();
      expect(network?.name).toBe(expected);
      expect(network?.rxBytes).toBe(expected === undefined ? undefined : 3);
      expect(network?.interfaces).toHaveLength(3);
    });

    test('is left out if it cannot be read, or only CPU and memory are asked for', async () => {
      expect((await bed.summary()).node).not.toHaveProperty('network');
      writeInterfaces(bed, 'proc', { eth0: [1, 0, 2, 0] });
      expect((await bed.summary({ onlyCPUAndMemory: true })).node).not.toHaveProperty('network');
      expect((await bed.summary({ network: false })).node).not.toHaveProperty('network');
    });
  });

  test('the network of this machine is read as the kernel writes it', async () => {
    const { network } = (await bed.open({ root: '/' }).summary()).node;
    for (const { name, ...counts } of network?.interfaces ?? []) {
      expect(name).toMatch(/^(?!lo$)\S+$/);
      expect(Object.values(counts)).toEqual(Array(4).fill(expect.any(Number)));
    }
    expect(network?.time).toBe(TIME);
  });
});

describe('pod network', () => {
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
});
