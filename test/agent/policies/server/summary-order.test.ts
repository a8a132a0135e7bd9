import { expect, test } from '@jest/globals';
import { inKubeletOrder } from '../../../../src/agent/policies/server/summary-order.ts';

const TIME = '2026-11-22T15:40:13Z';
const FS = {
  time: TIME,
  availableBytes: 1,
  capacityBytes: 2,
  usedBytes: 3,
  inodesFree: 4,
  inodes: 5,
  inodesUsed: 6,
};
const PSI = {
  full: { total: 0, avg10: 0, avg60: 0, avg300: 0 },
  some: { total: 0, avg10: 0, avg60: 0, avg300: 0 },
};
const CPU = { time: TIME, usageNanoCores: 1, usageCoreNanoSeconds: 2, psi: PSI };
const MEMORY = {
  ...{ time: TIME, availableBytes: 1, usageBytes: 2, workingSetBytes: 3, rssBytes: 4 },
  ...{ pageFaults: 5, majorPageFaults: 6, psi: PSI },
};
const IO = { time: TIME, psi: PSI };
const SWAP = { time: TIME, swapAvailableBytes: 0, swapUsageBytes: 0 };
const ETH0 = { name: 'eth0', rxBytes: 1, rxErrors: 2, txBytes: 3, txErrors: 4 };
const NETWORK = { time: TIME, ...ETH0, interfaces: [ETH0] };

/** The order of a kubelet 1.36.2. */
const OF_KUBELET = {
  node: {
    nodeName: 'epnode',
    systemContainers: [{ name: 'pods', startTime: TIME, cpu: CPU, memory: MEMORY, io: IO, swap: SWAP }],
    startTime: TIME,
    cpu: CPU,
    memory: MEMORY,
    io: IO,
    network: NETWORK,
    fs: FS,
    runtime: { imageFs: FS, containerFs: FS },
    rlimit: { time: TIME, maxpid: 32_768, curproc: 352 },
    swap: SWAP,
  },
  pods: [
    {
      podRef: { name: 'web', namespace: 'default', uid: 'u' },
      startTime: TIME,
      containers: [
        { name: 'main', startTime: TIME, cpu: CPU, memory: MEMORY, io: IO, rootfs: FS, logs: FS, swap: SWAP },
      ],
      cpu: CPU,
      memory: MEMORY,
      io: IO,
      network: NETWORK,
      volume: [
        { ...FS, name: 'data', pvcRef: { name: 'orders', namespace: 'shop' } },
        { ...FS, name: 'scratch' },
      ],
      'ephemeral-storage': FS,
      process_stats: { process_count: 1 },
      swap: SWAP,
    },
  ],
};

/** The same values in the opposite order, with times in milliseconds. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (value === TIME) return '2026-11-22T15:40:13.999Z';
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, turned(member)]),
  );
}

test('figures have the order of the kubelet, and times whole seconds', () => {
  const { node, pods } = inKubeletOrder(turned(OF_KUBELET)) as typeof OF_KUBELET;
  expect(JSON.stringify(node)).toBe(JSON.stringify(OF_KUBELET.node));
  expect(JSON.stringify(pods)).toBe(JSON.stringify(OF_KUBELET.pods));
});

test('a figure that is not known stays, at the end', () => {
  expect(JSON.stringify(inKubeletOrder({ other: 1, time: 'soon' }))).toBe('{"time":"soon","other":1}');
});
