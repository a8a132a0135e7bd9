import { afterEach, describe, expect, test } from '@jest/globals';
import { nodeOf, registered, setUp, stopNodes } from '../../../support/cluster-node-bed.ts';
import { OTHER_IDENTITY } from '../../../support/machine-facts.ts';

afterEach(stopNodes);

describe('an object of another machine', () => {
  const TAKEN =
    'The Node object node-1 is of another machine: machine ID machine-b, system UUID system-b, boot ID boot-2';

  test('is logged, and not written while that machine renews its lease', async () => {
    const { clock, api, node, told, events, lines } = setUp();
    api.putNode(nodeOf(OTHER_IDENTITY));
    const before = api.node;
    node.start();
    for (let renewals = 0; renewals < 30; renewals += 1) {
      api.putLease({ metadata: { name: 'node-1' } });
      await clock.advance(10_000);
    }
    expect(api.node).toBe(before);
    expect(told).toEqual([]);
    expect(events).toEqual(['Warning NodeNameTaken']);
    const advice = 'It is not changed while that machine renews its lease. Give this node another name';
    expect(lines).toEqual([{ level: 'error', message: `${TAKEN}. ${advice}` }]);
    expect(node.current).toEqual({
      state: 'OtherMachine',
      since: Date.UTC(2030, 0, 1) + 100,
      problem: expect.stringContaining('machine ID machine-b'),
    });
  });

  test.each([['is not renewed', true] as const, ['does not exist', false] as const])(
    'is taken over if its lease %s for 40 s',
    async (_, hasLease) => {
      const { clock, api, node, told } = setUp();
      api.putNode(nodeOf(OTHER_IDENTITY));
      // The clock of the other machine may be wrong by hours: only what changes counts.
      if (hasLease)
        api.putLease({ metadata: { name: 'node-1' }, spec: { renewTime: '2031-01-01T00:00:00Z' } });
      node.start();
      await clock.advance(40_000);
      expect(told).toEqual([]);
      await clock.advance(10_000);
      expect(told).toEqual(['registered uid-1']);
      expect(api.node?.status?.nodeInfo?.machineID).toBe('machine-a');
    },
  );

  test('that takes the object of a running node is logged, and not overwritten', async () => {
    const { clock, api, node, told, events } = await registered();
    api.putNode({ ...api.node!, status: nodeOf(OTHER_IDENTITY).status! });
    node.seen(api.node);
    api.requests.length = 0;
    await clock.advance(15_000);
    expect(told).toEqual(['registered uid-1', 'lost']);
    expect(events).toEqual(['Warning NodeNameTaken']);
    expect(api.verbs).not.toContain('patch node/status');
  });

  test('is not suspected if only an outdated copy of the object shows it', async () => {
    const { clock, api, node, told } = await registered();
    node.seen({ ...api.node!, status: nodeOf(OTHER_IDENTITY).status! });
    await clock.advance(10_000);
    expect(api.verbs).toEqual(['get node']);
    expect(told).toEqual(['registered uid-1']);
  });
});

test('a machine that was started anew is the same machine: its object is taken, and Rebooted recorded', async () => {
  const { clock, api, node, told, events } = setUp();
  api.putNode(nodeOf({ machineID: 'machine-a', systemUUID: 'system-a', bootID: 'boot-0' }));
  node.start();
  await clock.advance(1_000);
  expect(told).toEqual(['registered uid-1']);
  expect(events.filter((event) => event.endsWith('Rebooted'))).toEqual(['Warning Rebooted']);
  expect(api.node?.status?.nodeInfo?.bootID).toBe('boot-1');
});
