import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Subject } from 'rxjs';
import type { ContainerEvent } from '../../../src/types/cri.ts';
import { settled } from '../../../src/simulation/node/virtual-clock.ts';
import { waitFor } from '../../support/wait-for.ts';
import { DEAF, PlegBed } from './pleg-bed.ts';
import { podOf } from '../pods/pod-bed.ts';

let bed: PlegBed;

beforeAll(() => {
  bed = new PlegBed();
});
afterEach(async () => bed.reset());
afterAll(async () => bed.cleanup());

describe('while an effect holds the pod', () => {
  test('events only wait: they are read after the release', async () => {
    const { pod, uid, id } = await bed.runPod();
    const pleg = await bed.started();
    pleg.hold(pod.metadata);
    await bed.stopHeard(id);
    await pleg.relist();
    expect(bed.told.of(uid)).toEqual([]);
    pleg.release(uid);
    await bed.untilTold(uid, `${id}=exited`);
  });

  test('what the effect has read for itself is not told again', async () => {
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

  test('what happens between its last read and the release is told', async () => {
    const { pod, uid, id } = await bed.runPod();
    const pleg = await bed.started();
    pleg.hold(pod.metadata);
    await pleg.read(pod.metadata);
    await bed.stopHeard(id);
    pleg.release(uid);
    await bed.untilTold(uid, `${id}=exited`);
  });

  test('a read that began before the effect is not what it begins with', async () => {
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

  test('with two holders the last one to release counts', async () => {
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

  test('current: the last observation while nothing has been hinted at, else a fresh read', async () => {
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

  test('current: before the first relist a pod that was never looked at is read', async () => {
    const pleg = bed.create();
    const { pod, id } = await bed.runPod();
    pleg.hold(pod.metadata);
    expect((await pleg.current(pod.metadata)).containers[0]?.id).toBe(id);
  });

  test('current: of a pod that the last relist did not find, nothing is asked', async () => {
    const counted = bed.reads();
    const pleg = await bed.started(counted.runtime);
    const pod = podOf({ containers: [] });
    pleg.hold(pod.metadata);
    expect(await pleg.current(pod.metadata)).toMatchObject({ sandboxes: [], containers: [] });
    expect(counted.count).toBe(0);
  });

  test('a read that failed leaves what was hinted at to the next one', async () => {
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

  test('after a read that failed, what was hinted at is read with the release', async () => {
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

  test('a first read that is under way when an effect comes and goes is not lost', async () => {
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

  test('one that begins while a hint is being followed up reads for itself, and that is not told', async () => {
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

  test('what one that was given up has done is seen by the next, also when no event tells of it', async () => {
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
