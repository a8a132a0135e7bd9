import { describe, expect, test } from '@jest/globals';
import { type NodeHealth, readyProblems } from '../../../../src/agent/policies/node/ready-problems.ts';
import type { RuntimeCondition } from '../../../../src/types/cri.ts';

const NOW_MS = 1_000_000;
const condition = (type: RuntimeCondition['type'], status = true): RuntimeCondition => ({
  type,
  status,
  reason: status ? '' : 'NotYet',
  message: status ? '' : 'wait',
});

function health(
  readyAt: number | undefined,
  conditions: readonly RuntimeCondition[],
  more: Partial<NodeHealth> = {},
): NodeHealth {
  const runtime = { status: { conditions, supplementalGroupsPolicy: false }, readyAt };
  return { runtime, plegProblem: undefined, isShuttingDown: false, ...more };
}

const FINE = [condition('RuntimeReady'), condition('NetworkReady')];

describe('why a node is not ready', () => {
  test('nothing, while runtime and network are ready', () => {
    expect(readyProblems(health(NOW_MS - 29_999, FINE), NOW_MS)).toEqual([]);
  });

  test('the runtime has not been asked yet', () => {
    const unasked = {
      runtime: { status: undefined, readyAt: undefined },
      plegProblem: undefined,
      isShuttingDown: false,
    };
    expect(readyProblems(unasked, NOW_MS)).toEqual([
      'container runtime status check may not have completed yet',
    ]);
  });

  test('the runtime has not been ready for 30 s', () => {
    expect(readyProblems(health(NOW_MS - 30_000, FINE), NOW_MS)).toEqual(['container runtime is down']);
  });

  test('all at once, in the order of the kubelet', () => {
    const broken = [condition('NetworkReady', false), condition('RuntimeReady', false)];
    const all = health(0, broken, { plegProblem: 'pleg has yet to be successful', isShuttingDown: true });
    expect(readyProblems(all, NOW_MS)).toEqual([
      'container runtime is down',
      'PLEG is not healthy: pleg has yet to be successful',
      'container runtime not ready: RuntimeReady=false reason:NotYet message:wait',
      'container runtime network not ready: NetworkReady=false reason:NotYet message:wait',
      'node is shutting down',
    ]);
  });
});
