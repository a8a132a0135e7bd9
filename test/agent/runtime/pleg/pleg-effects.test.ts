import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Subject } from 'rxjs';
import type { ContainerEvent } from '../../../../src/types/cri.ts';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { DEAF, PlegBed } from './pleg-bed.ts';
import { podOf } from '../pods/pod-bed.ts';

let bed: PlegBed;

beforeAll(() => {
  bed = new PlegBed();
});
afterEach(async () => bed.reset());
afterAll(async () => bed.cleanup());

describe('while an effect holds the pod', () => {
  test('an event leads to a read after the release', async () => {
    const { pod, uid, id } = await bed.runPod();
    const pleg = await bed.started();
    pleg.hold(pod.metadata);
    await bed.stopHeard(id);
    await pleg.relist();
    expect(bed.told.of(uid)).toEqual([]);
    pleg.release(uid);
    await bed.untilTold(uid, `${id}=exited`);
  });

  test('a change that the effect has read is not reported', async () => {
    const { pod, uid, id } = await bed.runPod();
    const pleg = await bed.started();
    pleg.hold(pod.metadata);
    await bed.stopHeard(id);
    expect((await pleg.read(pod.metadata)).containers[0]?.state).toBe('exited');
    pleg.release(uid);
    await pleg.relist();
    await settled();
    expect(bed.told.of(uid)).toEqual([]);
  });

  test('a change between its last read and the release is reported', async () => {
    const { pod, uid, id } = await bed.runPod();
    const pleg = await bed.started();
    pleg.hold(pod.metadata);
    await pleg.read(pod.metadata);
    await bed.stopHeard(id);
    pleg.release(uid);
    await bed.untilTold(uid, `${id}=exited`);
  });

  test('the effect does not begin with a read that began before it', async () => {
    const { pod, uid, id } = await bed.runPod();
    const reads = bed.reads();
    const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
    const hints = new Subject<ContainerEvent>();
    const pleg = await bed.started({ ...reads.runtime, containerEvents: () => hints });
    reads.gate = gate.then(() => undefined);
    hints.next(bed.hint(pod, id));
    await waitFor(() => reads.count === 2, { what: 'the read for the event' });
    await bed.other.stopContainer(id, 1);
    pleg.hold(pod.metadata);
    const current = pleg.current(pod.metadata);
    open(undefined);
    expect((await current).containers[0]?.state).toBe('exited');
    pleg.release(uid);
  });

  test('with two holders, the last release counts', async () => {
    const { pod, uid, id } = await bed.runPod();
    const pleg = await bed.started();
    pleg.hold(pod.metadata);
    pleg.hold(pod.metadata);
    await bed.stopHeard(id);
    pleg.release(uid);
    await settled();
    expect(bed.told.of(uid)).toEqual([]);
    pleg.release(uid);
    await bed.untilTold(uid, `${id}=exited`);
  });

  test('current is the last status if no hint came since then, else a fresh read', async () => {
    const { pod, id } = await bed.runPod();
    const counted = bed.reads();
    const pleg = await bed.started(counted.runtime);
    counted.count = 0;
    pleg.hold(pod.metadata);
    expect((await pleg.current(pod.metadata)).containers[0]?.state).toBe('running');
    expect(counted.count).toBe(0);
    await bed.stopHeard(id);
    expect((await pleg.current(pod.metadata)).containers[0]?.state).toBe('exited');
    expect(counted.count).toBe(1);
  });

  test('current, before the first relist, reads a pod that was not read yet', async () => {
    const pleg = bed.create();
    const { pod, id } = await bed.runPod();
    pleg.hold(pod.metadata);
    expect((await pleg.current(pod.metadata)).containers[0]?.id).toBe(id);
  });

  test('current does not read a pod that the last relist did not find', async () => {
    const counted = bed.reads();
    const pleg = await bed.started(counted.runtime);
    const pod = podOf({ containers: [] });
    pleg.hold(pod.metadata);
    expect(await pleg.current(pod.metadata)).toMatchObject({ sandboxes: [], containers: [] });
    expect(counted.count).toBe(0);
  });

  test('after a failed read, the next read is a fresh one', async () => {
    const { pod, uid, id } = await bed.runPod();
    const counted = bed.reads();
    const pleg = await bed.started(counted.runtime);
    pleg.hold(pod.metadata);
    await bed.stopHeard(id);
    counted.failing = 1;
    await expect(pleg.read(pod.metadata)).rejects.toThrow('the read failed');
    expect((await pleg.current(pod.metadata)).containers[0]?.state).toBe('exited');
    pleg.release(uid);
  });

  test('after a failed read, the release leads to a read', async () => {
    const { pod, uid, id } = await bed.runPod();
    const counted = bed.reads();
    const pleg = await bed.started(counted.runtime);
    pleg.hold(pod.metadata);
    await bed.stopHeard(id);
    counted.failing = 1;
    await expect(pleg.read(pod.metadata)).rejects.toThrow('the read failed');
    pleg.release(uid);
    await bed.untilTold(uid, `${id}=exited`);
  });

  test('an aborted read rejects', async () => {
    const { pod } = await bed.runPod();
    const pleg = await bed.started();
    await expect(pleg.read(pod.metadata, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      kind: 'Canceled',
    });
  });

  test('the first read of a pod is not lost if an effect begins and ends meanwhile', async () => {
    const counted = bed.reads();
    const hints = new Subject<ContainerEvent>();
    const pleg = await bed.started({ ...counted.runtime, containerEvents: () => hints });
    const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
    counted.gate = gate;
    const { pod, uid, id } = await bed.runPod();
    hints.next(bed.hint(pod, id));
    await waitFor(() => counted.count > 0, { what: 'the read of the new pod' });
    pleg.hold(pod.metadata);
    pleg.release(uid);
    open(undefined);
    await bed.untilTold(uid, `${id}=running`);
    expect(pleg.runtimeHolds(uid)).toBe('running');
  });

  test('an effect that begins during a read for a hint reads the pod itself, and that read is not reported', async () => {
    const { pod, uid, id } = await bed.runPod();
    const counted = bed.reads();
    const hints = new Subject<ContainerEvent>();
    const pleg = await bed.started({ ...counted.runtime, containerEvents: () => hints });
    const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
    Object.assign(counted, { count: 0, gate });
    await bed.other.stopContainer(id, 1);
    hints.next(bed.hint(pod, id));
    await waitFor(() => counted.count > 0, { what: 'the read that the hint leads to' });
    counted.gate = Promise.resolve();
    pleg.hold(pod.metadata);
    expect((await pleg.current(pod.metadata)).containers[0]?.state).toBe('exited');
    open(undefined);
    await settled();
    pleg.release(uid);
    await settled();
    expect(bed.told.of(uid)).toEqual([]);
  });

  test('the next effect sees what an aborted effect has done, also without an event', async () => {
    const { pod, uid, id } = await bed.runPod();
    const pleg = await bed.started(DEAF);
    pleg.hold(pod.metadata);
    await bed.other.stopContainer(id, 1);
    pleg.doubt(uid);
    pleg.release(uid);
    pleg.hold(pod.metadata);
    expect((await pleg.current(pod.metadata)).containers[0]?.state).toBe('exited');
    pleg.release(uid);
  });
});
