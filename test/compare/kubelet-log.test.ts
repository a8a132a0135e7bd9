import { describe, expect, test } from '@jest/globals';
import { eventOf } from '../../scripts/compare/kubelet.ts';

function line(fields: Readonly<Record<string, unknown>>): string {
  const event = { msg: 'Event occurred', kind: 'Pod', type: 'Normal', reason: 'Killing' };
  const object = { name: 'a-node-a', namespace: 'default' };
  return JSON.stringify({ ...event, object, message: 'Stopping container main', ...fields });
}

describe("an event in the kubelet's log", () => {
  test('is read with the pod that it is about', () => {
    const expected = { pod: 'default/a-node-a', type: 'Normal', reason: 'Killing' };
    expect(eventOf(line({}))).toEqual({ ...expected, message: 'Stopping container main' });
    expect(eventOf(line({ object: 'default/a-node-a' }))).toMatchObject(expected);
  });

  test('names the container where the kubelet does so by a field alone', () => {
    const created = { reason: 'Created', message: 'Container created', fieldPath: 'spec.containers{main}' };
    expect(eventOf(line(created))).toMatchObject({ message: 'Container created', container: 'main' });
  });

  test.each([
    ['of the node', line({ kind: 'Node' })],
    ['another line', '{"msg":"Starting kubelet"}'],
    ['half a line', line({}).slice(0, 40)],
  ])('is none: %s', (_what, text) => {
    expect(eventOf(text)).toBeUndefined();
  });
});
