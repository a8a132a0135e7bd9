import { describe, expect, test } from '@jest/globals';
import { landsUnawaited } from '../../../src/simulation/runtime/call-faults.ts';
import { chosen, createPod, outcomeOf, simulatedBed, startPod } from './simulated-bed.ts';

const LANDS = chosen(landsUnawaited);
const NEVER_LANDS = chosen((value) => !landsUnawaited(value));
const SLOW_START = { StartContainer: [1000, 1000] } as const;

const stateOf = (bed: ReturnType<typeof simulatedBed>, uid: string) =>
  bed.simulated.sandboxesOf(uid)[0]?.containers[0]?.state;

describe('a simulated connection', () => {
  const underWay = async (random: typeof LANDS) => {
    const bed = simulatedBed({ latencies: SLOW_START, random });
    const { id } = await createPod(bed, 'pod');
    return { bed, id, outcome: outcomeOf(bed.runtime.startContainer(id)) };
  };

  test('that is cut answers no call; a call under way may land', async () => {
    const { bed, id, outcome } = await underWay(LANDS);
    bed.runtime.cut();
    const after = outcomeOf(bed.runtime.removeContainer(id));
    await bed.clock.advance(1000);
    expect([outcome.told, after.told]).toEqual([undefined, undefined]);
    expect(stateOf(bed, 'pod')).toBe('CONTAINER_RUNNING');
  });

  test('that is cut answers no call; a call under way may also not land', async () => {
    const { bed, outcome } = await underWay(NEVER_LANDS);
    bed.runtime.cut();
    await bed.clock.advance(1000);
    expect(outcome.told).toBeUndefined();
    expect(stateOf(bed, 'pod')).toBe('CONTAINER_CREATED');
  });

  test('that is cut has no effect on calls of other connections', async () => {
    const { bed, outcome } = await underWay(NEVER_LANDS);
    const other = bed.simulated.connect();
    other.cut();
    await bed.clock.advance(1000);
    expect(outcome.told).toBe('done');
  });

  test('shows the pods that an earlier agent has left', async () => {
    const bed = simulatedBed();
    const { id, sandboxId } = await startPod(bed, 'pod');
    bed.runtime.cut();
    const next = bed.simulated.connect();
    expect(await next.listPodSandbox()).toMatchObject([{ id: sandboxId }]);
    expect(await next.listContainers()).toMatchObject([{ id, state: 'CONTAINER_RUNNING' }]);
  });

  test('that is closed gives up its calls', async () => {
    const { bed, id, outcome } = await underWay(NEVER_LANDS);
    await bed.runtime.close();
    expect(outcome.told).toBe('Unavailable');
    await expect(bed.runtime.startContainer(id)).rejects.toMatchObject({ kind: 'Unavailable' });
  });
});
