import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type AnyActorRef, createActor, setup } from 'xstate';
import { ProbeManager } from '../../../../src/agent/actors/probes/probe-manager.ts';
import { rfc3339 } from '../../../../src/agent/policies/formats/time.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import type { ExecSyncResponse } from '../../../../src/types/cri.ts';
import type { Container, ContainerStatus, Pod, PodStatus } from '../../../../src/types/kubernetes.ts';
import { LOCAL_PODS } from '../../../support/local-pods.ts';
import { testContext } from '../../../support/test-context.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';

const EMPTY = Buffer.alloc(0);
const OLD_MS = 60_000;

let clock: VirtualClock;
let manager: ProbeManager;
let statuses: Map<string, PodStatus>;
let sent: string[];
let lines: string[];
/** Commands in flight, and how they end. */
let runs: {
  command: string;
  containerId: string;
  end: (exitCode: number | Error) => void;
  aborted: () => boolean;
}[];
/** The exit code of each command that is not held. */
let exits: Partial<Record<'s' | 'l', number>>;
let held: Set<string>;
let ran: string[];

const runtime = {
  execSync: (
    containerId: string,
    command: readonly string[],
    _: number,
    options?: { signal?: AbortSignal },
  ) => {
    const name = command.join(' ');
    ran.push(name);
    const { promise, resolve, reject } = Promise.withResolvers<ExecSyncResponse>();
    const end = (exit: number | Error) =>
      exit instanceof Error ? reject(exit) : resolve({ exitCode: exit, stdout: EMPTY, stderr: EMPTY });
    options?.signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    if (held.has(name)) {
      runs.push({ command: name, containerId, end, aborted: () => options?.signal?.aborted === true });
    } else end(exits[name as 's' | 'l'] ?? 0);
    return promise;
  },
} as unknown as RuntimeService;

function newManager({ parent, podIP }: { parent?: AnyActorRef; podIP?: () => string } = {}): ProbeManager {
  const note = (_: object, message: string) => void lines.push(message);
  const logger = { trace: note, debug: () => undefined, info: note, warn: note, error: note };
  const made = new ProbeManager(testContext({ clock, random: () => 0.5, logger, parent }), {
    runtime,
    ...LOCAL_PODS,
    node: { ...LOCAL_PODS.node, ...(podIP && { podIP }) },
    statusManager: { get: (uid) => statuses.get(uid) },
  });
  made.news.subscribe(({ uid, probe, result }) => void sent.push(`${uid} ${probe} ${result}`));
  return made;
}

beforeEach(async () => {
  clock = new VirtualClock();
  [statuses, sent, lines, runs, exits, held, ran] = [new Map(), [], [], [], {}, new Set(), []];
  manager = newManager();
  // After this time, first runs are not spread.
  await clock.advance(OLD_MS);
});
afterEach(() => {
  manager.stop();
  expect(clock.armed).toBe(0);
  expect(lines).toEqual([]);
});

type Probes = Pick<Container, 'livenessProbe' | 'readinessProbe' | 'startupProbe'>;
const probe = (command: string, more: object = {}) => ({
  exec: { command: [command] },
  periodSeconds: 10,
  successThreshold: 1,
  failureThreshold: 3,
  ...more,
});
const pod = (uid: string, probes: Probes, more: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name: uid, namespace: 'default', uid },
  spec: { restartPolicy: 'Always', containers: [{ name: 'main', ...probes }], ...more },
});
const running = (id: string, started = true, name = 'main'): ContainerStatus => ({
  name,
  image: '',
  imageID: '',
  ready: false,
  restartCount: 0,
  containerID: `containerd://${id}`,
  started,
  state: { running: { startedAt: rfc3339(clock.now()) } },
});
const ended = (id: string): ContainerStatus => ({
  ...running(id, false),
  state: { terminated: { exitCode: 1 } },
});

function show(uid: string, ...containerStatuses: ContainerStatus[]): void {
  statuses.set(uid, { phase: 'Running', containerStatuses });
  manager.podStatusChanged(uid);
}
const results = (uid: string, kind: 'liveness' | 'readiness' | 'startup') =>
  Object.fromEntries(manager.results(uid)[kind]);

describe('the cost of probes', () => {
  test('a pod without probes has no timer and no actor, and shares one answer with other pods', () => {
    manager.addPod(pod('a', {}));
    manager.addPod(pod('b', {}));
    show('a', running('c1'));
    expect(clock.armed).toBe(0);
    expect(manager.results('a')).toBe(manager.results('b'));
    expect(manager.results('a')).toBe(manager.results('nobody'));
  });

  test('a probe that waits for no run has no timer', async () => {
    manager.addPod(pod('a', { livenessProbe: probe('live') }));
    expect(clock.armed).toBe(0);
    show('a', running('c1', false));
    expect(clock.armed).toBe(0);
    show('a', running('c1'));
    expect(clock.armed).toBe(1);
    show('a', ended('c1'));
    expect(clock.armed).toBe(0);
    await clock.advance(600_000);
    expect(ran).toEqual([]);
  });
});

describe('when a probe runs', () => {
  test('liveness runs once in each period of its worker', async () => {
    manager.addPod(pod('a', { livenessProbe: probe('live') }));
    await clock.advance(4_000);
    show('a', running('c1'));
    await clock.advance(5_999);
    expect(ran).toEqual([]);
    await clock.advance(1);
    expect(ran).toEqual(['live']);
    await clock.advance(20_000);
    expect(ran).toHaveLength(3);
  });

  test('readiness runs as soon as the container has started', async () => {
    manager.addPod(pod('a', { readinessProbe: probe('ready') }));
    show('a', running('c1', false));
    await clock.advance(3_000);
    expect(ran).toEqual([]);
    show('a', running('c1'));
    await clock.advance(0);
    expect(ran).toEqual(['ready']);
    await clock.advance(10_000);
    expect(ran).toHaveLength(2);
  });

  test('an initial delay may be longer than the longest timer', async () => {
    const initialDelaySeconds = 30 * 86_400;
    manager.addPod(pod('a', { readinessProbe: probe('ready', { initialDelaySeconds }) }));
    show('a', running('c1'));
    await clock.advance(initialDelaySeconds * 1000 - 1);
    expect(ran).toEqual([]);
    await clock.advance(1);
    expect(ran).toEqual(['ready']);
  });

  test('an agent that has just started spreads the first runs for containers that run already', async () => {
    manager.stop();
    statuses.set('a', { phase: 'Running', containerStatuses: [running('c1')] });
    await clock.advance(3_600_000);
    manager = newManager();
    manager.addPod(pod('a', { livenessProbe: probe('live'), readinessProbe: probe('ready') }));
    await clock.advance(499);
    expect(ran).toEqual([]);
    await clock.advance(1);
    expect(ran).toEqual(['ready']);
    await clock.advance(4_499);
    expect(ran).toEqual(['ready']);
    await clock.advance(1);
    expect(ran).toEqual(['ready', 'live']);
  });

  test('a container that has run longer than its startup probe allows counts as started without a run', async () => {
    const startupProbe = probe('start', { failureThreshold: 3 });
    const readinessProbe = probe('ready');
    statuses.set('a', { phase: 'Running', containerStatuses: [running('c1', false)] });
    const find = () => {
      manager.stop();
      manager = newManager();
      manager.addPod(pod('a', { startupProbe, readinessProbe }));
      return results('a', 'startup');
    };
    await clock.advance(40_000);
    expect(find()).toEqual({});
    manager.stop();
    await clock.advance(1_001);
    expect(find()).toEqual({ c1: 'Success' });
    // The pod's status shows the container as started then.
    statuses.set('a', {
      phase: 'Running',
      containerStatuses: [{ ...running('c1'), state: { running: { startedAt: rfc3339(OLD_MS) } } }],
    });
    manager.podStatusChanged('a');
    await clock.advance(60_000);
    expect(ran).not.toContain('start');
    expect(results('a', 'readiness')).toEqual({ c1: 'Success' });
    expect(results('a', 'startup')).toEqual({ c1: 'Success' });
  });

  test('a probe has one run at a time, even if the run takes long', async () => {
    held.add('ready');
    manager.addPod(pod('a', { readinessProbe: probe('ready') }));
    show('a', running('c1'));
    await clock.advance(35_000);
    expect(ran).toHaveLength(1);
    runs[0]?.end(0);
    await clock.advance(0);
    expect(ran).toHaveLength(2);
  });

  test('probes run for sidecars, but not for other init containers', async () => {
    const initContainers: Container[] = [
      { name: 'setup', readinessProbe: probe('setup') },
      { name: 'side', restartPolicy: 'Always', readinessProbe: probe('side') },
    ];
    manager.addPod(pod('a', {}, { initContainers }));
    statuses.set('a', {
      phase: 'Pending',
      initContainerStatuses: [running('i1', true, 'setup'), running('i2', true, 'side')],
    });
    manager.podStatusChanged('a');
    await clock.advance(0);
    expect(ran).toEqual(['side']);
    expect(results('a', 'readiness')).toEqual({ i2: 'Success' });
  });
});

describe('results', () => {
  test('have defaults before the first run', () => {
    manager.addPod(
      pod('a', { livenessProbe: probe('l'), readinessProbe: probe('r'), startupProbe: probe('s') }),
    );
    expect(results('a', 'startup')).toEqual({});
    show('a', running('c1', false));
    const { liveness, readiness, startup } = manager.results('a');
    expect([liveness, readiness, startup].map((found) => found.get('c1'))).toEqual([
      'Success',
      'Failure',
      'UNKNOWN',
    ]);
    expect(sent).toEqual([]);
  });

  test('come from the startup probe first, then from the others; only changes are reported', async () => {
    exits.s = 1;
    manager.addPod(
      pod('a', { livenessProbe: probe('l'), readinessProbe: probe('r'), startupProbe: probe('s') }),
    );
    await clock.advance(500);
    show('a', running('c1', false));
    await clock.advance(9_500);
    expect([ran, sent]).toEqual([['s'], []]);
    exits.s = 0;
    await clock.advance(10_000);
    expect(sent).toEqual(['a startup Success']);
    show('a', running('c1'));
    await clock.advance(0);
    expect(sent).toEqual(['a startup Success', 'a readiness Success']);
    await clock.advance(30_000);
    expect(sent).toHaveLength(2);
    expect(ran.filter((name) => name === 's')).toHaveLength(2);
  });

  test('are stored before they are reported', async () => {
    const found: unknown[] = [];
    manager.news.subscribe(() => void found.push(results('a', 'readiness')));
    manager.addPod(pod('a', { readinessProbe: probe('r') }));
    show('a', running('c1'));
    await clock.advance(10_000);
    expect(found).toEqual([{ c1: 'Success' }]);
  });

  test('of a failed liveness probe are reported once, and the probe waits for the next instance', async () => {
    exits.l = 1;
    manager.addPod(pod('a', { livenessProbe: probe('l') }));
    show('a', running('c1'));
    await clock.advance(60_000);
    expect([ran.length, sent, results('a', 'liveness')]).toEqual([
      3,
      ['a liveness Failure'],
      { c1: 'Failure' },
    ]);
    expect(clock.armed).toBe(0);
    show('a', running('c2'));
    expect(results('a', 'liveness')).toEqual({ c2: 'Success' });
    expect(clock.armed).toBe(1);
  });

  test('do not come from a run for a container that is gone: the run is aborted', async () => {
    held.add('r');
    manager.addPod(pod('a', { readinessProbe: probe('r') }));
    show('a', running('c1'));
    await clock.advance(0);
    show('a', running('c2'));
    expect(runs[0]?.aborted()).toBe(true);
    await clock.advance(0);
    expect(runs.map(({ containerId }) => containerId)).toEqual(['c1', 'c2']);
    runs[1]?.end(0);
    await settled();
    expect([sent, results('a', 'readiness')]).toEqual([['a readiness Success'], { c2: 'Success' }]);
  });

  test('do not change if a probe cannot be run', async () => {
    const podIP = () => {
      throw new Error('no idea');
    };
    manager = newManager({ podIP });
    manager.addPod(pod('a', { livenessProbe: probe('l', { failureThreshold: 1 }) }));
    show('a', running('c1'));
    await clock.advance(10_000);
    expect([sent, results('a', 'liveness')]).toEqual([[], { c1: 'Success' }]);
    expect(lines.splice(0)).toEqual(expect.arrayContaining(['A probe could not be run: no idea']));
  });
});

describe('the end of a pod', () => {
  const all = { livenessProbe: probe('l'), readinessProbe: probe('r'), startupProbe: probe('s') };

  test('stops liveness and startup with result Success; readiness goes on', async () => {
    manager.addPod(pod('a', all));
    show('a', running('c1', false));
    manager.stopLivenessAndStartup('a');
    expect([results('a', 'startup'), results('a', 'liveness')]).toEqual([
      { c1: 'Success' },
      { c1: 'Success' },
    ]);
    show('a', running('c1'));
    await clock.advance(20_000);
    expect(new Set(ran)).toEqual(new Set(['r']));
  });

  test('a removed pod has no results, timers or runs', async () => {
    held.add('r');
    manager.addPod(pod('a', all));
    await clock.advance(500);
    show('a', running('c1'));
    await clock.advance(0);
    manager.removePod('a');
    expect(runs[0]?.aborted()).toBe(true);
    expect(clock.armed).toBe(0);
    expect(results('a', 'readiness')).toEqual({});
    show('a', running('c1'));
    await clock.advance(60_000);
    expect([ran, sent]).toEqual([['r'], []]);
  });

  test('a removed pod may be added again', async () => {
    manager.addPod(pod('a', all));
    manager.addPod(pod('a', all));
    manager.removePod('a');
    statuses.set('a', { phase: 'Running', containerStatuses: [running('c2')] });
    manager.addPod(pod('a', all));
    await clock.advance(0);
    expect(ran).toEqual(expect.arrayContaining(['r']));
  });

  test('keepOnly removes all other pods', () => {
    for (const uid of ['a', 'b']) {
      manager.addPod(pod(uid, all));
      show(uid, running('c1'));
    }
    manager.keepOnly((uid) => uid === 'b');
    expect([results('a', 'liveness'), results('b', 'liveness')]).toEqual([{}, { c1: 'Success' }]);
  });

  test('after stop, no probe starts', () => {
    manager.stop();
    manager.addPod(pod('a', all));
    show('a', running('c1'));
    expect(clock.armed).toBe(0);
  });
});

describe('probe actors', () => {
  const heard: string[] = [];
  const root = createActor(
    setup({ actions: { hear: ({ event }) => void heard.push(event.type) } }).createMachine({
      on: { '*': { actions: 'hear' } },
    }),
  );

  test('have the parent that was given, and different names', async () => {
    const names: string[] = [];
    root.start();
    root.system.inspect((event) => {
      if (event.type === '@xstate.actor') names.push((event.actorRef as AnyActorRef).id);
    });
    manager = newManager({ parent: root });
    manager.addPod(pod('a', { livenessProbe: probe('l'), readinessProbe: probe('r') }));
    expect(names).toEqual(['a_default main readiness a', 'a_default main liveness a']);
    manager.removePod('a');
    await settled();
    expect(heard.every((type) => type.startsWith('xstate.done.actor.'))).toBe(true);
  });

  test('go on if one of them fails, and the failure is logged', async () => {
    manager = newManager({ parent: root });
    manager.addPod(pod('a', { livenessProbe: probe('l'), readinessProbe: probe('r') }));
    const setTimeout = clock.setTimeout.bind(clock);
    let failures = 0;
    clock.setTimeout = (callback, delayMs) => {
      if (failures++ === 0) throw new Error('no timers left');
      return setTimeout(callback, delayMs);
    };
    show('a', running('c1'));
    await clock.advance(10_000);
    expect(lines.splice(0)).toEqual(["A probe's actor failed, and does not run any more: no timers left"]);
    expect(ran).toContain('l');
  });
});
