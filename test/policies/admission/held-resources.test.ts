import { describe, expect, test } from '@jest/globals';
import { countedAmount, heldBy, NOTHING_HELD } from '../../../src/policies/admission/held-resources.ts';
import { parseQuantity } from '../../../src/policies/formats/quantity.ts';
import { requestingPod } from '../../support/admission.ts';

describe('what pods hold of a node', () => {
  const held = heldBy([
    requestingPod('a', { requests: { cpu: '250m', memory: '1Mi', 'example.com/gpu': '2' } }),
    requestingPod('b', { requests: { cpu: '1', memory: '1Mi' }, overhead: { cpu: '50m' } }),
    requestingPod('c'),
  ]);

  test('is their number', () => {
    expect(held.pods).toBe(3);
  });

  test('is the sum of their requests with overhead: CPU in thousandths, other resources in whole units', () => {
    expect(['cpu', 'memory', 'example.com/gpu', 'hugepages-2Mi'].map((name) => held.amount(name))).toEqual([
      1300, 2_097_152, 2, 0,
    ]);
  });

  test('is their ports of the node, of any protocol and address', () => {
    const containers = [
      {
        name: 'dns',
        ports: [
          { containerPort: 53, hostPort: 53, protocol: 'UDP', hostIP: '10.0.0.1' },
          { containerPort: 53, hostPort: 53 },
          { containerPort: 8080 },
        ],
      },
    ];
    const ports = heldBy([requestingPod('d', { containers })]);
    expect(ports.portsOf(53).map(({ protocol, hostIp }) => [protocol, hostIp])).toEqual([
      ['UDP', '10.0.0.1'],
      ['TCP', ''],
    ]);
    expect(ports.portsOf(8080)).toEqual([]);
  });

  test('are an error if a request is no quantity', () => {
    expect(() => heldBy([requestingPod('e', { requests: { cpu: 'much' } })]).amount('cpu')).toThrow(
      'quantities',
    );
  });
});

test('an empty node has nothing in use', () => {
  expect([NOTHING_HELD.pods, NOTHING_HELD.amount('cpu'), NOTHING_HELD.portsOf(80)]).toEqual([0, 0, []]);
});

test('amounts are rounded up to the unit in which they are counted', () => {
  expect(countedAmount('cpu', parseQuantity('100.5m'))).toBe(101);
  expect(countedAmount('memory', parseQuantity('1500m'))).toBe(2);
});
