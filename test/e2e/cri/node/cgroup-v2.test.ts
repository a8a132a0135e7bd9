import { beforeAll, expect, test } from '@jest/globals';
import type { PodStats } from '../../../../src/types/stats.ts';
import '../../../support/built.ts';
import { installPackages } from '../../../support/containerd/packages.ts';
import { reportFromKernel, userModeLinuxSuite } from '../../../support/user-mode-linux.ts';

type Files = Readonly<Record<string, string>>;

interface Found {
  readonly groups: Readonly<Record<string, Files>>;
  readonly pods: Readonly<Record<string, Files>>;
  readonly containers: Readonly<Record<string, Files>>;
  readonly eater: { readonly reason: string; readonly exitCode: number };
  readonly summary: PodStats;
  readonly capacity: { readonly memory: number; readonly swap: number };
  /** Of `/metrics/resource`. */
  readonly metrics: string;
  readonly node: { readonly status: { readonly nodeInfo: object } };
  /** What containers may use of the swap, once no container is given any. */
  readonly withoutSwap: Readonly<Record<string, string>>;
  readonly isAdopted: readonly boolean[];
}

const MIB = 2 ** 20;
const NONE = { 'cpu.max': 'max 100000', 'memory.max': 'max', 'memory.min': '0', 'memory.low': '0' };

userModeLinuxSuite('a node on cgroup v2, with systemd and containerd', () => {
  let found: Found;

  beforeAll(async () => {
    await installPackages();
    const machine = { memoryMiB: 900, swapMiB: 512, hasSystemd: true };
    found = (await reportFromKernel(new URL('cgroup-v2-program.ts', import.meta.url), machine)) as Found;
  });

  test('has the groups of pods and QoS classes with the limits of the kubelet', () => {
    expect(found.groups).toEqual({
      kubepods: {
        ...NONE,
        'cpu.weight': '39',
        'memory.max': String(found.capacity.memory),
        'memory.min': String(32 * MIB),
        'pids.max': expect.stringMatching(/^\d+$/),
      },
      burstable: {
        ...NONE,
        'cpu.weight': '10',
        'memory.low': String(16 * MIB),
        'pids.max': 'max',
      },
      besteffort: { ...NONE, 'cpu.weight': '1', 'pids.max': 'max' },
    });
    const firm = {
      'memory.max': String(16 * MIB),
      'memory.min': String(16 * MIB),
      'cpu.max': '10000 100000',
    };
    const soft = { 'memory.max': String(32 * MIB), 'memory.low': String(16 * MIB) };
    expect(found.pods).toEqual({
      firm: { ...NONE, ...firm, 'cpu.weight': '4', 'pids.max': '50' },
      soft: { ...NONE, ...soft, 'cpu.weight': '10', 'pids.max': '50' },
      poor: { ...NONE, 'cpu.weight': '1', 'pids.max': '50' },
    });
  });

  test('has containers that are killed as a whole, keep memory, and use swap where they may', () => {
    const { memory, swap } = found.capacity;
    const each = {
      ...NONE,
      'memory.high': 'max',
      'memory.swap.max': '0',
      'memory.oom.group': '1',
    };
    const { soft, ...others } = found.containers;
    expect(others).toEqual({
      firm: {
        ...each,
        'cpu.max': '10000 100000',
        'memory.max': String(16 * MIB),
        'memory.min': String(16 * MIB),
      },
      poor: each,
    });
    const { 'memory.swap.max': swapMax, ...ofSoft } = soft ?? {};
    expect({ ...each, ...ofSoft }).toEqual({
      ...each,
      'memory.max': String(32 * MIB),
      'memory.low': String(16 * MIB),
      'memory.high': String(32 * MIB),
    });
    const share = Math.trunc(((16 * MIB) / memory) * swap);
    // The kernel counts pages.
    expect(Number(swapMax)).toBe(share - (share % 4096));
  });

  test('calls a container OOMKilled that the kernel has killed, also where containerd has missed it', () => {
    expect(found.eater).toMatchObject({ reason: 'OOMKilled', exitCode: 137 });
  });

  test('has figures of a pod and its container from their groups', () => {
    const { memory, swap, containers = [], cpu, process_stats } = found.summary;
    const [container] = containers;
    expect(memory?.availableBytes).toBe(32 * MIB - (memory?.workingSetBytes ?? 0));
    expect(container?.memory?.availableBytes).toBe(32 * MIB - (container?.memory?.workingSetBytes ?? 0));
    expect(swap).not.toHaveProperty('swapAvailableBytes');
    const { swapAvailableBytes = 0, swapUsageBytes = 0 } = container?.swap ?? {};
    const swapMax = found.containers.soft?.['memory.swap.max'];
    expect(swapAvailableBytes + swapUsageBytes).toBe(Number(swapMax));
    expect(cpu?.usageCoreNanoSeconds).toBeGreaterThan(container?.cpu?.usageCoreNanoSeconds ?? Infinity);
    expect(process_stats).toEqual({ process_count: 3 });
  });

  test('shows how much swap the machine has, and metrics show its use and its limit', () => {
    expect(found.node.status.nodeInfo).toMatchObject({ swap: { capacity: found.capacity.swap } });
    const valueOf = (name: string) =>
      Number(new RegExp(`^${name}(?:{[^}]*pod="soft[^}]*})? (\\S+)`, 'm').exec(found.metrics)?.[1]);
    expect(valueOf('container_swap_limit_bytes')).toBe(Number(found.containers.soft?.['memory.swap.max']));
    for (const what of ['container', 'pod', 'node'])
      expect(valueOf(`${what}_swap_usage_bytes`)).toBeGreaterThan(0);
  });

  test('gives no swap to new containers once the settings forbid it, and takes none away from running ones', () => {
    const soft = found.containers.soft?.['memory.swap.max'];
    expect(found.withoutSwap).toEqual({ soft, dry: '0' });
  });

  test('goes on with its containers when the agent was killed and started again, and removes the groups of pods that are gone', () => {
    expect(found.isAdopted).toEqual([true, true, true]);
  });
});
