import { beforeEach, describe, expect, test } from '@jest/globals';
import { Hints, type RawEvent } from '../../../../src/runtime/cri/events/hints.ts';
import type { ContainerEvent, PodSandboxMetadata } from '../../../../src/types/cri.ts';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';

const pod: PodSandboxMetadata = { name: 'web', namespace: 'default', uid: 'u', attempt: 0 };
const started = (id: string, createdAt: number): RawEvent => ({
  id,
  type: 'CONTAINER_STARTED_EVENT',
  createdAt,
});
const stopped = (id: string, createdAt: number): RawEvent => ({
  id,
  type: 'CONTAINER_STOPPED_EVENT',
  createdAt,
  early: true,
});

describe('hints', () => {
  let told: ContainerEvent[];
  let known: Set<string>;
  let lookUp: PromiseWithResolvers<PodSandboxMetadata | undefined>;
  let shown: PromiseWithResolvers<number | undefined>;
  let hints: Hints;

  beforeEach(() => {
    told = [];
    known = new Set();
    lookUp = Promise.withResolvers();
    shown = Promise.withResolvers();
    hints = new Hints({
      podOf: (id) => (known.has(id) ? pod : undefined),
      lookUp: () => lookUp.promise,
      whenShown: () => shown.promise,
      emit: (event) => told.push(event),
    });
  });
  const times = () => told.map(({ createdAt }) => createdAt);

  test('of a known pod are told at once', () => {
    known.add('c');
    hints.tell(started('c', 1));
    expect(told).toEqual([
      {
        containerId: 'c',
        containerEventType: 'CONTAINER_STARTED_EVENT',
        createdAt: 1,
        podSandboxMetadata: pod,
      },
    ]);
  });

  test('of an unknown pod wait for the lookup, and later ones of that id with them', async () => {
    hints.tell(started('c', 1));
    await settled();
    known.add('c');
    hints.tell(started('c', 2));
    expect(told).toEqual([]);
    lookUp.resolve(pod);
    await settled();
    expect(times()).toEqual([1, 2]);
  });

  test('of other ids do not wait', () => {
    known.add('other');
    hints.tell(started('c', 1));
    hints.tell(started('other', 2));
    expect(times()).toEqual([2]);
  });

  test('that the status does not show yet get the time at which it does', async () => {
    known.add('c');
    hints.tell(stopped('c', 1));
    await settled();
    expect(told).toEqual([]);
    shown.resolve(5);
    await settled();
    expect(times()).toEqual([5]);
  });

  test('are dropped if no pod is found, or the runtime does not answer', async () => {
    hints.tell(started('c', 1));
    lookUp.resolve(undefined);
    await settled();
    lookUp = Promise.withResolvers();
    hints.tell(started('c', 2));
    lookUp.reject(new Error('down'));
    await settled();
    expect(told).toEqual([]);
  });
});
