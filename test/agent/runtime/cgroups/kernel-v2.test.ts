/** Cgroup v2 as a kernel of its own has it: what the agent writes is in force there. */
import { beforeAll, expect, test } from '@jest/globals';
import { reportFromKernel, userModeLinuxSuite } from '../../../support/user-mode-linux.ts';

interface OutOfMemory {
  readonly signal: string;
  readonly oomKills: string;
  readonly groupKills: string;
  readonly isPopulated: boolean;
}

interface Found {
  readonly version: number;
  readonly limits: Readonly<Record<string, object>>;
  readonly containers: readonly { readonly written: object; readonly read: object }[];
  readonly together: OutOfMemory;
  readonly alone: OutOfMemory;
  readonly ownGroup: object;
  readonly refused: {
    readonly pid: number;
    readonly busy: string;
    readonly typeOfBusy: string;
    readonly threaded: string;
  };
  readonly figures: { readonly told: object; readonly counted: object; readonly isTopThere: boolean };
  readonly embedded: object;
  readonly delegated: object;
  readonly lowerLimit: object;
  readonly removal: object;
  readonly messages: readonly string[];
}

userModeLinuxSuite('on a kernel that has cgroup v2 alone', () => {
  let found: Found;

  beforeAll(async () => {
    found = (await reportFromKernel(new URL('kernel-v2-program.ts', import.meta.url))) as Found;
  });

  test('the limits of pods and of the groups above them are those of the kubelet, and the kernel takes each of them', () => {
    const none = { 'cpu.max': 'max 100000', 'memory.max': 'max', 'memory.min': '0', 'memory.low': '0' };
    expect(found.version).toBe(2);
    expect(found.limits).toEqual({
      '/kubepods': {
        ...none,
        'cpu.weight': '79',
        'memory.max': String(128 * 2 ** 20),
        'memory.min': String(24 * 2 ** 20),
        'pids.max': '1000',
      },
      '/kubepods/burstable': {
        ...none,
        'cpu.weight': '10',
        'memory.low': String(8 * 2 ** 20),
        'pids.max': 'max',
      },
      '/kubepods/besteffort': { ...none, 'cpu.weight': '1', 'pids.max': 'max' },
      '/kubepods/podg': {
        ...none,
        'cpu.weight': '39',
        'cpu.max': '100000 100000',
        'memory.max': String(16 * 2 ** 20),
        'memory.min': String(16 * 2 ** 20),
        'pids.max': '100',
      },
      '/kubepods/burstable/podb': {
        ...none,
        'cpu.weight': '10',
        'memory.max': String(32 * 2 ** 20),
        'memory.low': String(8 * 2 ** 20),
        'pids.max': '100',
      },
      '/kubepods/besteffort/pode': { ...none, 'cpu.weight': '1', 'pids.max': '100' },
    });
    expect(found.messages).toEqual([]);
  });

  test('the kernel takes each file that CRI has the runtime write for a container: of the OOM killer, swap and MemoryQoS', () => {
    expect(found.containers.map(({ written }) => written)).toEqual([
      { 'memory.oom.group': '1', 'memory.swap.max': '0', 'memory.min': '16777216' },
      {
        'memory.oom.group': '1',
        'memory.swap.max': '4194304',
        'memory.low': '8388608',
        'memory.high': '31035392',
      },
      { 'memory.oom.group': '1', 'memory.swap.max': '0', 'memory.min': '0', 'memory.low': '0' },
    ]);
    expect(found.containers.map(({ read }) => read)).toEqual(found.containers.map(({ written }) => written));
  });

  test('a limit on all pods that is below what they use kills none of them, and is set once they use less', () => {
    expect(found.lowerLimit).toEqual({
      before: String(128 * 2 ** 20),
      kills: '0',
      after: String(16 * 2 ** 20),
      signal: 'SIGKILL',
      told: [
        'Normal NodeAllocatableEnforced Updated Node Allocatable limit across pods',
        expect.stringMatching(
          /^Warning FailedNodeAllocatableEnforcement Failed to update Node Allocatable Limits: \/sys\/fs\/cgroup\/kubepods\/memory\.max is not set to "16777216": \d+ bytes are used, and the kernel would kill processes there$/,
        ),
        'Normal NodeAllocatableEnforced Updated Node Allocatable limit across pods',
      ],
    });
  });

  test('a container that is out of memory is killed as a whole, and with singleProcessOOMKill one process of it', () => {
    expect(found.together).toMatchObject({ signal: 'SIGKILL', groupKills: '1', isPopulated: false });
    expect(found.alone).toEqual({ signal: 'SIGKILL', oomKills: '1', groupKills: '0', isPopulated: true });
  });

  test("processes that the kernel kills in the monitor's own group count as OOM kills there, and those of another group do not", () => {
    expect(found.ownGroup).toEqual({
      before: false,
      afterOther: false,
      signal: 'SIGKILL',
      after: [true, false],
    });
  });

  test('a group with processes is named with one of them, all controllers that it refuses, and what to do; it stays a domain', () => {
    const { busy, pid, typeOfBusy } = found.refused;
    expect(busy).toMatch(
      /^\/sys\/fs\/cgroup\/busy\/cgroup\.subtree_control: the controllers cpu, memory, pids cannot be enabled: EBUSY/,
    );
    expect(busy).toMatch(
      new RegExp(
        `by process ${pid}; move the processes of the group into a group below it, or set another cgroupRoot$`,
      ),
    );
    expect(typeOfBusy).toBe('domain');
  });

  test('a threaded group is named, with what to do', () => {
    expect(found.refused.threaded).toMatch(
      /^\/sys\/fs\/cgroup\/threads\/cgroup\.type is "domain threaded": the memory of pods cannot be limited .* set another cgroupRoot$/,
    );
  });

  test('figures of a group are those that the kernel counts, and the top group has some although it has no memory.current', () => {
    expect(found.figures.told).toEqual(found.figures.counted);
    expect(found.figures.isTopThere).toBe(true);
  });

  test('groups of pods are found, and removed with the processes that are left in them', () => {
    expect(found.removal).toEqual({ found: ['g', 'b', 'e'], signal: 'SIGKILL', isLeft: false });
  });

  test('a plain process begins in a group of its own with its limits, is OOMKilled there, and leaves nothing', () => {
    expect(found.embedded).toEqual({
      files: {
        'memory.max': String(16 * 2 ** 20),
        'memory.oom.group': '1',
        'cpu.max': '100000 100000',
        'cpu.weight': '39',
      },
      isIn: true,
      isLeft: false,
      exit: 'OOMKilled',
    });
  });

  test('a user who is not root has limits below the group that systemd has given it', () => {
    expect(found.delegated).toEqual({
      isBelow: true,
      isIn: true,
      files: { 'memory.max': String(16 * 2 ** 20), 'cpu.max': '100000 100000' },
      isLeft: false,
    });
  });
});
