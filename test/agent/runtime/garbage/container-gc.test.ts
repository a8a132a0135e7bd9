import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { CONTAINER_GC_POLICY } from '../../../../src/agent/policies/garbage/dead-containers.ts';
import { ContainerGC, type ContainerGCParts } from '../../../../src/agent/runtime/garbage/container-gc.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { whenExited } from '../../../support/runtime-configs.ts';
import { podBed, type PodBed, podOf, runContainer, shell } from '../pods/pod-bed.ts';
import { warnings } from '../../../support/warnings.ts';
import { testContext } from '../../../support/test-context.ts';

let bed: PodBed;
let removable: Set<string>;
let log: ReturnType<typeof warnings>;

beforeAll(() => {
  bed = podBed();
});
afterAll(async () => bed.cleanup());
beforeEach(() => {
  removable = new Set();
  log = warnings();
});

const newGC = (more: Partial<ContainerGCParts> = {}) =>
  new ContainerGC(testContext({ clock: systemClock, logger: log.logger }), {
    runtime: bed.runtime,
    policy: CONTAINER_GC_POLICY,
    isPodRemovable: (uid) => removable.has(uid),
    ...more,
  });

/** A pod with a container that has ended `times` times, and another that runs. */
async function podThatRan(times: number): Promise<Pod> {
  const pod = podOf({});
  const { sandboxId, sandboxConfig } = await bed.newSandbox(pod);
  for (let attempt = 0; attempt < times; attempt++) {
    const ended = shell('main', 'exit 0');
    await whenExited(
      bed.runtime,
      await runContainer(bed.runtime, pod, ended, sandboxId, sandboxConfig, attempt),
    );
  }
  await runContainer(bed.runtime, pod, shell('other', 'sleep 1000'), sandboxId, sandboxConfig);
  return pod;
}

const left = async (pod: Pod) => {
  const { containers, sandboxes } = await bed.read(pod);
  return {
    containers: containers.map(({ name, restartCount }) => `${name} ${restartCount}`).sort(),
    sandboxes: sandboxes.length,
  };
};

test('of an existing pod, the newest dead instance and all running containers stay', async () => {
  const pod = await podThatRan(3);
  await newGC().collect();
  expect(await left(pod)).toEqual({ containers: ['main 2', 'other 0'], sandboxes: 1 });
});

test('of a removed pod, everything is removed when nothing of it runs', async () => {
  const pod = await podThatRan(2);
  removable.add(pod.metadata.uid);
  await newGC().collect();
  expect(await left(pod)).toEqual({ containers: ['other 0'], sandboxes: 1 });
  for (const { id } of (await bed.read(pod)).sandboxes) await bed.runtime.stopPodSandbox(id);
  await newGC().collect();
  expect(await left(pod)).toEqual({ containers: [], sandboxes: 0 });
});

test('logs are removed before their container, and dangling log links at the end', async () => {
  const pod = await podThatRan(2);
  const order: string[] = [];
  const runtime: RuntimeService = {
    ...bed.runtime,
    removeContainer: async (id) => {
      order.push('container');
      await bed.runtime.removeContainer(id);
    },
  };
  const removeContainerLogs = ({
    metadata: { name, attempt },
  }: {
    metadata: { name: string; attempt: number };
  }) => {
    order.push(`logs of ${name} ${attempt}`);
    return Promise.resolve();
  };
  const removeOrphanedLogs = () => Promise.resolve(void order.push('orphaned logs'));
  await newGC({ runtime, removeContainerLogs, removeOrphanedLogs }).collect();
  expect(order).toEqual(['logs of main 0', 'container', 'orphaned logs']);
  expect(await left(pod)).toMatchObject({ containers: ['main 1', 'other 0'] });
});

test('logs are orphaned if their container was missing in two collections', async () => {
  const pod = await podThatRan(1);
  const ids = new Map((await bed.read(pod)).containers.map(({ id, name }) => [name, id]));
  const inUse: boolean[][] = [];
  const asked = [ids.get('main') ?? '', ids.get('other') ?? '', 'gone', 'created since'];
  const gc = newGC({ removeOrphanedLogs: (isInUse) => Promise.resolve(void inUse.push(asked.map(isInUse))) });
  await gc.collect();
  asked[3] = ids.get('other') ?? '';
  await gc.collect();
  expect(inUse).toEqual([
    [false, true, true, true],
    [false, true, false, true],
  ]);
});

test('the log of a container that has gone since the list was read stays: its path may be that of a new instance', async () => {
  await podThatRan(3);
  const [, second] = (await bed.runtime.listContainers())
    .filter(({ metadata }) => metadata.name === 'main')
    .sort((a, b) => a.createdAt - b.createdAt)
    .slice(-3);
  const runtime: RuntimeService = {
    ...bed.runtime,
    removeContainer: async (id) => {
      await bed.runtime.removeContainer(id);
      await bed.runtime.removeContainer(second?.id ?? '');
    },
  };
  const cleaned: number[] = [];
  const removeContainerLogs: ContainerGCParts['removeContainerLogs'] = ({ metadata }) =>
    Promise.resolve(void cleaned.push(metadata.attempt));
  await newGC({ runtime, removeContainerLogs }).collect();
  expect({ cleaned, warnings: log.messages }).toEqual({ cleaned: [0], warnings: [] });
});

test('a container of unknown state is stopped before it is removed', async () => {
  const pod = await podThatRan(2);
  const stopped: string[] = [];
  const runtime: RuntimeService = {
    ...bed.runtime,
    listContainers: async (...args) =>
      (await bed.runtime.listContainers(...args)).map((container) =>
        container.metadata.attempt === 0 && container.metadata.name === 'main'
          ? { ...container, state: 'CONTAINER_UNKNOWN' as const }
          : container,
      ),
    stopContainer: async (id, timeoutSeconds) => {
      stopped.push(id);
      await bed.runtime.stopContainer(id, timeoutSeconds);
    },
  };
  await newGC({ runtime }).collect();
  expect(stopped).toHaveLength(1);
  expect(await left(pod)).toMatchObject({ containers: ['main 1', 'other 0'] });
});

describe('a failure', () => {
  const failing = (kind: 'Internal' | 'Unavailable', removals: string[]): RuntimeService => ({
    ...bed.runtime,
    removeContainer: (id) => {
      removals.push(id);
      return Promise.reject(new StateletError(kind, 'it is stuck'));
    },
  });

  test('of one container is reported, and the other containers are removed', async () => {
    const pod = await podThatRan(3);
    const removals: string[] = [];
    await newGC({ runtime: failing('Internal', removals) }).collect();
    expect(removals).toHaveLength(2);
    expect(log.messages).toEqual([
      expect.stringContaining(`of pod ${pod.metadata.uid}: it is stuck`),
      expect.stringContaining('Failed to remove dead container main'),
    ]);
    await newGC().collect();
  });

  test('of the whole runtime ends the collection', async () => {
    await podThatRan(3);
    const removals: string[] = [];
    const work = newGC({ runtime: failing('Unavailable', removals) }).collect();
    await expect(work).rejects.toMatchObject({ kind: 'Unavailable' });
    expect(removals).toHaveLength(1);
    await newGC().collect();
  });

  test('a pod that is added again during the collection keeps its containers', async () => {
    const [first, second] = [await podThatRan(1), await podThatRan(1)];
    removable = new Set([first.metadata.uid, second.metadata.uid]);
    const runtime: RuntimeService = {
      ...bed.runtime,
      removeContainer: async (id) => {
        await bed.runtime.removeContainer(id);
        removable.clear();
      },
    };
    await newGC({ runtime }).collect();
    expect(await left(first)).toMatchObject({ containers: ['other 0'] });
    expect(await left(second)).toMatchObject({ containers: ['main 0', 'other 0'] });
  });

  test('an agent that stops does not wait for a removal that hangs', async () => {
    await podThatRan(2);
    const stopping = new AbortController();
    const hanging = Promise.withResolvers<undefined>();
    const runtime: RuntimeService = {
      ...bed.runtime,
      removeContainer: (_id, { signal } = {}) => {
        hanging.resolve(undefined);
        return new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(new StateletError('Canceled', 'given up')));
        });
      },
    };
    const work = newGC({ runtime }).collect(stopping.signal);
    await hanging.promise;
    stopping.abort();
    await expect(work).rejects.toMatchObject({ name: 'AbortError' });
    expect(log.messages).toEqual([]);
    await newGC().collect();
  });

  test('an agent that stops: nothing more is removed', async () => {
    const pod = await podThatRan(3);
    const stopping = new AbortController();
    const runtime: RuntimeService = {
      ...bed.runtime,
      removeContainer: async (id) => {
        await bed.runtime.removeContainer(id);
        stopping.abort();
      },
    };
    await expect(newGC({ runtime }).collect(stopping.signal)).rejects.toMatchObject({ name: 'AbortError' });
    expect(await left(pod)).toMatchObject({ containers: ['main 1', 'main 2', 'other 0'] });
  });
});
