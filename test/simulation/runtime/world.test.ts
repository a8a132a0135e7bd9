import { describe, expect, test } from '@jest/globals';
import { SimulatedPod } from '../../../src/simulation/runtime/world.ts';
import { simulatedBed, startPod } from './simulated-bed.ts';

const bed = simulatedBed();
const { runtime, simulated } = bed;
const start = (uid: string, ...words: readonly string[]) => startPod(bed, uid, words);

describe('the pods of a simulated node', () => {
  test('have their sandboxes and containers, until these are removed', async () => {
    const { id, sandboxId } = await start('truth', 'run');
    expect(simulated.sandboxesOf('truth')).toMatchObject([
      { id: sandboxId, ready: true, containers: [{ id, state: 'CONTAINER_RUNNING', uid: 'truth' }] },
    ]);
    expect(simulated.uids()).toContain('truth');
    await runtime.removePodSandbox(sandboxId);
    expect(simulated.sandboxesOf('truth')).toEqual([]);
    expect(simulated.uids()).not.toContain('truth');
  });

  test('are not forgotten while they have a sandbox, however many there are', async () => {
    const many = simulatedBed();
    const uids = Array.from({ length: 2500 }, (_, pod) => `pod-${pod}`);
    for (const uid of uids) {
      await many.runtime.listPodSandbox({ labelSelector: { 'io.kubernetes.pod.uid': uid } });
      await startPod(many, uid);
    }
    expect(many.simulated.uids()).toEqual(uids);
  });

  test('are forgotten if nothing is left of them, once a thousand others have come and gone', async () => {
    const { sandboxId } = await start('long-gone', 'run');
    await runtime.removePodSandbox(sandboxId);
    for (let other = 0; other < 1000; other += 1) await runtime.removePodSandbox(`other-${other}.s1`);
    expect((await start('long-gone', 'run')).sandboxId).toBe(sandboxId);
  });

  test('never get an id twice, even if a UID comes back', async () => {
    const first = await start('again', 'run');
    await runtime.removePodSandbox(first.sandboxId);
    const second = await start('again', 'run');
    expect(second.id).not.toBe(first.id);
    expect(second.sandboxId).not.toBe(first.sandboxId);
  });
});

const { runtime: imageRuntime } = simulatedBed();

describe('a simulated image', () => {
  test('is present from its pull to its removal', async () => {
    expect(await imageRuntime.imageStatus('app:1')).toBeUndefined();
    await imageRuntime.pullImage('app:1');
    expect(await imageRuntime.imageStatus('app:1')).toMatchObject({ id: 'app:1' });
    expect(await imageRuntime.listImages()).toHaveLength(1);
    await imageRuntime.removeImage('app:1');
    expect(await imageRuntime.listImages()).toEqual([]);
  });

  test('that is called missing cannot be pulled', async () => {
    await expect(imageRuntime.pullImage('app:missing')).rejects.toMatchObject({ kind: 'NotFound' });
  });
});

test('the calls, events and sandboxes of a pod are counted, each on its own', () => {
  const pod = new SimulatedPod('pod');
  const numbers = [pod.next('StartContainer'), pod.next('StartContainer'), pod.next('Event')];
  expect(numbers).toEqual([1, 2, 1]);
  expect(new SimulatedPod('other').next('StartContainer')).toBe(1);
});

test('a pod is empty without sandboxes and calls', () => {
  const pod = new SimulatedPod('pod');
  expect(pod.isEmpty()).toBe(true);
  pod.calls.add({} as never);
  expect(pod.isEmpty()).toBe(false);
  pod.calls.clear();
  pod.sandboxes.push({} as never);
  expect(pod.isEmpty()).toBe(false);
});
