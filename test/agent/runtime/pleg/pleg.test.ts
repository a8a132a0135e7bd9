import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { EMPTY, Subject, throwError } from 'rxjs';
import type { ContainerEvent } from '../../../../src/types/cri.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { RELIST_PERIOD_MS } from '../../../../src/agent/runtime/pleg/pleg.ts';
import { DEAF, PlegBed } from './pleg-bed.ts';
import { podOf, shell } from '../pods/pod-bed.ts';

let bed: PlegBed;

beforeAll(() => {
  bed = new PlegBed();
});
afterEach(async () => bed.reset());
afterAll(async () => bed.cleanup());

describe("the runtime's events", () => {
  test('the end of a container is reported without a relist, and its exit code is known', async () => {
    const { uid, id } = await bed.runPod();
    const pleg = await bed.started();
    await bed.other.stopContainer(id, 1);
    await bed.untilTold(uid, `${id}=exited`);
    expect(bed.told.of(uid)).toEqual([`${id}=exited`]);
    expect(bed.relists).toBe(0);
    expect(pleg.lastSeen(uid)?.containers[0]).toMatchObject({ id, state: 'exited', exitCode: 143 });
  });

  test('a new pod is reported with its sandbox and its container', async () => {
    await bed.started();
    const { uid, id, sandboxId } = await bed.runPod();
    await bed.untilTold(uid, `${id}=running`);
    expect(bed.told.of(uid)).toContain(`${sandboxId}=ready`);
  });

  test('an event of one pod does not report another pod', async () => {
    const [one, two] = [await bed.runPod(), await bed.runPod()];
    await bed.started();
    await bed.other.stopContainer(two.id, 1);
    await bed.untilTold(two.uid, `${two.id}=exited`);
    expect(bed.told.of(one.uid)).toEqual([]);
  });

  test('an event that is older than the last read leads to no read', async () => {
    const { pod, id } = await bed.runPod();
    const counted = bed.reads();
    const hints = new Subject<ContainerEvent>();
    await bed.started({ ...counted.runtime, containerEvents: () => hints });
    counted.count = 0;
    hints.next(bed.hint(pod, id, -1));
    await settled();
    expect(counted.count).toBe(0);
    hints.next(bed.hint(pod, id));
    await waitFor(() => counted.count > 0, { what: 'a read of the pod' });
  });

  test('many events during a read lead to one more read', async () => {
    const { pod, id } = await bed.runPod();
    const counted = bed.reads();
    const hints = new Subject<ContainerEvent>();
    const pleg = await bed.started({ ...counted.runtime, containerEvents: () => hints });
    counted.count = 0;
    const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
    counted.gate = gate;
    for (let many = 0; many < 100; many++) hints.next(bed.hint(pod, id));
    await waitFor(() => counted.count === 1, { what: 'the first read' });
    for (let many = 0; many < 100; many++) hints.next(bed.hint(pod, id));
    open(undefined);
    await waitFor(() => counted.count === 2, { what: 'the second read' });
    await pleg.relist();
    expect(counted.count).toBe(2);
  });
});

describe('the relist', () => {
  test('finds a change without an event', async () => {
    const { uid, id } = await bed.runPod();
    const pleg = await bed.started(DEAF);
    await bed.other.stopContainer(id, 1);
    expect(bed.told.of(uid)).toEqual([]);
    await pleg.relist();
    expect(bed.told.of(uid)).toEqual([`${id}=exited`]);
  });

  test('finds new pods and pods that are gone', async () => {
    const gone = await bed.runPod();
    const pleg = await bed.started(DEAF);
    await bed.other.removePodSandbox(gone.sandboxId);
    const come = await bed.runPod();
    await pleg.relist();
    expect(bed.told.of(gone.uid)).toContain(`${gone.id}=gone`);
    expect(bed.told.of(come.uid)).toContain(`${come.id}=running`);
    expect(pleg.pods().map(({ uid }) => uid)).toEqual([come.uid]);
  });

  test('reads no pod that has not changed', async () => {
    await bed.runPod();
    const counted = bed.reads();
    const pleg = await bed.started({ ...DEAF, ...counted.runtime });
    counted.count = 0;
    await pleg.relist();
    expect([counted.count, bed.told.all]).toEqual([0, []]);
  });

  test('runs every period, and calls onRelist', async () => {
    const { uid, id } = await bed.runPod();
    await bed.started(DEAF);
    await bed.other.stopContainer(id, 1);
    await bed.clock.advance(RELIST_PERIOD_MS - 1);
    expect(bed.told.of(uid)).toEqual([]);
    await bed.clock.advance(1);
    await bed.untilTold(uid, `${id}=exited`);
    await waitFor(() => bed.relists === 1, { what: 'the end of the relist' });
    await bed.clock.advance(RELIST_PERIOD_MS);
    await waitFor(() => bed.relists === 2, { what: 'the next relist' });
  });

  test('calls onRelist also if the relist fails; the next relist tries again', async () => {
    const { uid, id } = await bed.runPod();
    let down = false;
    const refuse = () => Promise.reject(new StateletError('Unavailable', 'nobody answers'));
    const pleg = await bed.started({
      ...DEAF,
      listContainers: (...args) => (down ? refuse() : bed.runtime.listContainers(...args)),
    });
    await bed.other.stopContainer(id, 1);
    down = true;
    await bed.clock.advance(RELIST_PERIOD_MS);
    await waitFor(() => bed.relists === 1, { what: 'the end of the relist that failed' });
    await expect(pleg.relist()).rejects.toThrow('nobody answers');
    expect(bed.told.of(uid)).toEqual([]);
    down = false;
    await bed.clock.advance(RELIST_PERIOD_MS);
    await bed.untilTold(uid, `${id}=exited`);
  });

  test('repeats a failed read', async () => {
    const { uid, id } = await bed.runPod();
    const counted = bed.reads();
    const pleg = await bed.started(counted.runtime);
    counted.count = 0;
    counted.failing = 1;
    await bed.other.stopContainer(id, 1);
    await waitFor(() => counted.count === 1, { what: 'the read that fails' });
    await settled();
    expect(bed.told.of(uid)).toEqual([]);
    await pleg.relist();
    expect(bed.told.of(uid)).toEqual([`${id}=exited`]);
  });

  test('gives a pod that could not be read its listed status; an effect reads the pod first', async () => {
    const { pod, uid, id } = await bed.runPod();
    const reads = bed.reads();
    reads.failing = 1;
    const pleg = bed.create(reads.runtime);
    await pleg.relist();
    expect(pleg.runtimeHolds(uid)).toBe('running');
    expect(pleg.pods().map((seen) => seen.containers.map((container) => container.id))).toEqual([[id]]);
    await pleg.current(pod.metadata);
    expect(reads.count).toBe(2);
  });

  test('forgets a removed pod after the removal was reported: its name is known until then', async () => {
    const { uid, id, sandboxId } = await bed.runPod();
    const pleg = await bed.started(DEAF);
    const names: (string | undefined)[] = [];
    pleg.changes.subscribe((changed) => names.push(pleg.lastSeen(changed)?.name));
    await bed.other.removePodSandbox(sandboxId);
    await pleg.relist();
    expect(bed.told.of(uid).toSorted()).toEqual([id, sandboxId].map((gone) => `${gone}=gone`).toSorted());
    expect(names).toEqual(['web']);
    expect([pleg.lastSeen(uid), pleg.runtimeHolds(uid)]).toEqual([undefined, 'nothing']);
  });

  test('runs once if it is requested twice at the same time', async () => {
    let lists = 0;
    const pleg = await bed.started({
      ...DEAF,
      listPodSandbox: (...args) => {
        lists += 1;
        return bed.runtime.listPodSandbox(...args);
      },
    });
    lists = 0;
    await Promise.all([pleg.relist(), pleg.relist()]);
    expect(lists).toBe(1);
  });
});

describe('if the runtime has no events', () => {
  test.each([
    ['says so', EMPTY],
    ['breaks them off', throwError(() => new StateletError('Unimplemented', 'no events here'))],
  ])('and %s, a relist runs every second', async (_, events) => {
    const { uid, id } = await bed.runPod();
    await bed.started({ containerEvents: () => events });
    expect(bed.clock.armed).toBe(1);
    await bed.other.stopContainer(id, 1);
    await bed.clock.advance(999);
    expect(bed.told.of(uid)).toEqual([]);
    await bed.clock.advance(1);
    await bed.untilTold(uid, `${id}=exited`);
    await waitFor(() => bed.relists === 1, { what: 'the end of the relist' });
    await bed.clock.advance(1_000);
    await waitFor(() => bed.relists === 2, { what: 'the next relist' });
  });

  test('any more, the next relist comes after a second, not at the end of the former period', async () => {
    const hints = new Subject<ContainerEvent>();
    await bed.started({ containerEvents: () => hints });
    await bed.clock.advance(1_000);
    expect(bed.relists).toBe(0);
    hints.complete();
    expect(bed.clock.armed).toBe(1);
    await bed.clock.advance(1_000);
    await waitFor(() => bed.relists === 1, { what: 'the relist' });
  });

  test('because the connection is being closed, no timer is armed', async () => {
    const hints = new Subject<ContainerEvent>();
    const pleg = await bed.started({ containerEvents: () => hints });
    pleg.stop();
    hints.complete();
    expect(bed.clock.armed).toBe(0);
  });
});

describe('the known pods', () => {
  test('runtimeHolds: nothing, running, ended', async () => {
    const pod = podOf({ containers: [shell('main', 'sleep 1000')] });
    const { uid } = pod.metadata;
    const pleg = await bed.started(DEAF);
    expect(pleg.runtimeHolds(uid)).toBe('nothing');
    const { sandboxes, containers } = await bed.run(pod);
    await pleg.relist();
    expect(pleg.runtimeHolds(uid)).toBe('running');
    await bed.other.stopContainer(containers[0]!.id, 1);
    await pleg.relist();
    expect(pleg.runtimeHolds(uid)).toBe('running');
    await bed.other.stopPodSandbox(sandboxes[0]!.id);
    await pleg.relist();
    expect([pleg.runtimeHolds(uid), pleg.pods().length]).toEqual(['ended', 1]);
    await bed.other.removePodSandbox(sandboxes[0]!.id);
    await pleg.relist();
    expect([pleg.runtimeHolds(uid), pleg.pods().length]).toEqual(['nothing', 0]);
  });

  test('a pod that an effect has read, and that the runtime does not have, is not kept', async () => {
    const pleg = await bed.started();
    const pod = podOf({});
    pleg.hold(pod.metadata);
    await pleg.read(pod.metadata);
    pleg.release(pod.metadata.uid);
    expect([pleg.lastSeen(pod.metadata.uid), pleg.pods()]).toEqual([undefined, []]);
  });

  test('a sandbox without the UID of a pod is not a pod', async () => {
    const pleg = await bed.started(DEAF);
    const logDirectory = '';
    const metadata = { name: 'foreign', uid: 'foreign', namespace: 'default', attempt: 0 };
    await bed.other.runPodSandbox({ metadata, logDirectory, labels: {}, annotations: {} });
    await pleg.relist();
    expect(pleg.pods()).toEqual([]);
  });
});

describe('health', () => {
  test('not healthy before the first relist', () => {
    const pleg = bed.create();
    expect(pleg.health()).toBe('pleg has yet to be successful');
  });

  test('healthy until the last good relist is older than 3 min', async () => {
    const failing = () => Promise.reject(new StateletError('Unavailable', 'nobody answers'));
    let down = false;
    const pleg = await bed.started({
      ...DEAF,
      listPodSandbox: (...args) => (down ? failing() : bed.runtime.listPodSandbox(...args)),
    });
    expect(pleg.health()).toBeUndefined();
    down = true;
    for (let relist = 0; relist < 18; relist++) await bed.clock.advance(RELIST_PERIOD_MS);
    expect([bed.relists, pleg.health()]).toEqual([18, undefined]);
    await bed.clock.advance(1_000);
    expect(pleg.health()).toBe('pleg was last seen active 181s ago; threshold is 3m0s');
    down = false;
    await pleg.relist();
    expect(pleg.health()).toBeUndefined();
  });
});

describe('stopped', () => {
  test('no timer is armed, and changes complete', async () => {
    const { id } = await bed.runPod();
    const pleg = await bed.started();
    let over = false;
    pleg.changes.subscribe({ complete: () => (over = true) });
    pleg.stop();
    expect([bed.clock.armed, over]).toEqual([0, true]);
    await bed.other.stopContainer(id, 1);
    await bed.clock.advance(10 * RELIST_PERIOD_MS);
    expect([bed.told.all, bed.relists]).toEqual([[], 0]);
  });

  test('a running relist is not reported and arms no timer', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
    let waiting = false;
    const pleg = await bed.started({
      ...DEAF,
      listPodSandbox: async (...args) => {
        if (waiting) await gate;
        return bed.runtime.listPodSandbox(...args);
      },
    });
    waiting = true;
    await bed.clock.advance(RELIST_PERIOD_MS);
    const relist = pleg.relist();
    pleg.stop();
    open(undefined);
    await relist;
    await settled();
    expect([bed.told.all, bed.clock.armed]).toEqual([[], 0]);
  });
});
