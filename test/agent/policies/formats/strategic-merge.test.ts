import { describe, expect, test } from '@jest/globals';
import { applyStrategicMergePatch } from '../../../support/apply-strategic-merge.ts';
import {
  NODE_RULES,
  POD_STATUS_RULES,
  strategicMergePatch,
} from '../../../../src/agent/policies/formats/strategic-merge.ts';
import { seededRandom } from '../../../../src/simulation/plan/seeded-random.ts';

const podPatch = (before: object, after: object) => strategicMergePatch(before, after, POD_STATUS_RULES);
const nodePatch = (before: object, after: object) => strategicMergePatch(before, after, NODE_RULES);

describe('a patch', () => {
  test('is empty between equal objects, whatever the order of their members', () => {
    expect(
      podPatch({ phase: 'Running', podIP: '10.0.0.1' }, { podIP: '10.0.0.1', phase: 'Running' }),
    ).toEqual({});
  });

  test('has what was added and changed, and null for what is gone', () => {
    const before = { phase: 'Pending', reason: 'Waits' };
    expect(podPatch(before, { phase: 'Running', podIP: '10.0.0.1' })).toEqual({
      phase: 'Running',
      podIP: '10.0.0.1',
      reason: null,
    });
  });

  test('takes null for an absent member', () => {
    expect(podPatch({ reason: null }, {})).toEqual({});
    expect(podPatch({}, { reason: null })).toEqual({});
    expect(podPatch({ reason: 'Waits' }, { reason: null })).toEqual({ reason: null });
  });

  test('has of an object only the members that differ', () => {
    const before = { metadata: { labels: { a: '1', b: '2' } } };
    const after = { metadata: { labels: { a: '1', b: '3' } } };
    expect(nodePatch(before, after)).toEqual({ metadata: { labels: { b: '3' } } });
  });

  test('replaces a list without merge key', () => {
    const before = { containerStatuses: [{ name: 'a' }, { name: 'b' }] };
    expect(podPatch(before, { containerStatuses: [{ name: 'a' }] })).toEqual({
      containerStatuses: [{ name: 'a' }],
    });
  });
});

describe('a list with a merge key', () => {
  const ready = { type: 'Ready', status: 'False', reason: 'ContainersNotReady' };
  const gate = { type: 'example.com/gate', status: 'True' };

  test('is patched element by element, with its order', () => {
    const after = { conditions: [gate, { type: 'Ready', status: 'True' }] };
    expect(podPatch({ conditions: [gate, ready] }, after)).toEqual({
      '$setElementOrder/conditions': [{ type: 'example.com/gate' }, { type: 'Ready' }],
      conditions: [{ type: 'Ready', status: 'True', reason: null }],
    });
  });

  test('names deleted elements after the others, sorted by key', () => {
    const before = { conditions: [ready, { type: 'B' }, { type: 'A' }] };
    expect(podPatch(before, { conditions: [gate, ready] })).toEqual({
      '$setElementOrder/conditions': [{ type: 'example.com/gate' }, { type: 'Ready' }],
      conditions: [gate, { $patch: 'delete', type: 'A' }, { $patch: 'delete', type: 'B' }],
    });
  });

  test('with another order alone has only the order', () => {
    expect(podPatch({ conditions: [ready, gate] }, { conditions: [gate, ready] })).toEqual({
      '$setElementOrder/conditions': [{ type: 'example.com/gate' }, { type: 'Ready' }],
    });
  });

  test('is sent whole where there was none before', () => {
    expect(podPatch({}, { conditions: [ready] })).toEqual({ conditions: [ready] });
    expect(podPatch({ conditions: [] }, { conditions: [ready] })).toEqual({ conditions: [ready] });
  });

  test('has null where there is none afterwards', () => {
    expect(podPatch({ podIPs: [{ ip: '10.0.0.1' }] }, {})).toEqual({ podIPs: null });
  });
});

describe('a patch of a node', () => {
  const ip = { type: 'InternalIP', address: '10.0.0.1' };
  const name = { type: 'Hostname', address: 'node-1' };

  test('replaces all addresses by a directive, since several may have one type', () => {
    const before = { status: { addresses: [ip, name] } };
    expect(nodePatch(before, { status: { addresses: [name] } })).toEqual({
      status: { addresses: [name, { $patch: 'replace' }] },
    });
    expect(nodePatch({ status: {} }, { status: { addresses: [name] } })).toEqual({
      status: { addresses: [name] },
    });
  });

  test('compares quantities as the server writes them', () => {
    const before = { status: { capacity: { cpu: '2', memory: '1Gi' } } };
    expect(nodePatch(before, { status: { capacity: { cpu: '2000m', memory: '1024Mi' } } })).toEqual({});
    expect(nodePatch(before, { status: { capacity: { cpu: '2500m', memory: '1Gi' } } })).toEqual({
      status: { capacity: { cpu: '2500m' } },
    });
  });
});

describe('a patch that is applied', () => {
  test('makes the new object of the former, for any pod status', () => {
    const random = seededRandom(7);
    const status = () => ({
      phase: random.pick(['Pending', 'Running']),
      ...(random.next() < 0.5 && { reason: random.pick(['A', 'B']) }),
      conditions: ['A', 'B', 'C', 'D', 'E']
        .filter((type) => type === 'E' || random.next() < 0.6)
        .map((type) => ({
          type,
          status: random.pick(['True', 'False']),
          ...(random.next() < 0.5 && { reason: 'R' }),
        }))
        .sort(() => random.next() - 0.5),
      podIPs: [{ ip: random.pick(['10.0.0.1', '10.0.0.2']) }],
      containerStatuses: [{ name: random.pick(['a', 'b']) }],
    });
    for (let i = 0; i < 500; i += 1) {
      const [before, after] = [status(), status()];
      const patch = strategicMergePatch(before, after, POD_STATUS_RULES);
      expect(applyStrategicMergePatch(before, patch, POD_STATUS_RULES)).toEqual(after);
    }
  });

  test('keeps an element that the patch does not know at its place', () => {
    const patch = podPatch({ conditions: [{ type: 'A' }, { type: 'B' }] }, { conditions: [{ type: 'B' }] });
    const now = { conditions: [{ type: 'A' }, { type: 'X' }, { type: 'B' }] };
    expect(applyStrategicMergePatch(now, patch, POD_STATUS_RULES)).toEqual({
      conditions: [{ type: 'X' }, { type: 'B' }],
    });
  });

  test('replaces the addresses of a node', () => {
    const before = { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] } };
    const after = { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.2' }] } };
    expect(applyStrategicMergePatch(before, nodePatch(before, after), NODE_RULES)).toEqual(after);
  });
});
