/** Mutants of the actors, and of what they do on the node. */
import type { Mutant } from './mutant.ts';

const SLOTS = 'src/agent/actors/pods/pod-actor.ts';
const STARTS = 'src/agent/actors/start/pod-starts.ts';
const NAMES = 'src/agent/actors/start/name-arbiter.ts';
const RETIREMENT = 'src/agent/actors/pods/pod-lifecycle.ts';
const EFFECTS = 'src/agent/actors/pods/pod-effects.ts';
const CLEANUPS = 'src/agent/actors/pods/pod-lifecycle.ts';
const SUPERVISOR = 'src/agent/actors/supervisor.ts';
const WORK_QUEUE = 'src/system/work-queue.ts';
const PLEG = 'src/agent/runtime/pleg/pleg.ts';
const STARTER = 'src/agent/runtime/pods/container-starter.ts';
const RUNTIME = 'src/agent/runtime/pods/pod-runtime.ts';
const KILLER = 'src/agent/runtime/pods/pod-killer.ts';

export const ACTOR_MUTANTS: readonly Mutant[] = [
  {
    name: 'abort-does-not-wait',
    breaks: 'An aborted effect counts as ended at once, with its call still in flight (I2, I5)',
    file: SLOTS,
    find: `    this.#slots.get(actor)?.controller.abort();`,
    replace: `    this.#slots.get(actor)?.controller.abort();
    this.#slots.delete(actor);
    queueMicrotask(() => actor.send({ type: 'AT_REST' }));`,
  },
  {
    name: 'hook-owed-by-nobody',
    breaks: 'A postStart hook that the death of an agent has interrupted counts as completed (rule 15)',
    file: 'src/agent/policies/status/remembered-containers.ts',
    find: `recordsHook(container) && hooked !== true`,
    replace: `recordsHook(container) && known(container.id) === undefined`,
  },
  {
    name: 'hook-noted-before-it-runs',
    breaks: 'It is remembered that a postStart hook has completed before it has run (rule 15)',
    file: STARTER,
    find: `      await runPostStartHook(target, signal);`,
    replace: `      await node.rememberContainer(pod.metadata.uid, containerId, { hooked: true });
      await runPostStartHook(target, signal);`,
  },
  {
    name: 'kill-not-awaited',
    breaks: 'A kill is answered before the pod is Terminated (rule 6)',
    file: SUPERVISOR,
    find: `    await terminated;`,
    replace: `    void terminated;`,
  },
  {
    name: 'same-name-overlap',
    breaks: 'A static pod starts while another of its name has not ended (I6)',
    file: NAMES,
    find: `    if (inTheWay === undefined) {`,
    replace: `    if (true) {`,
  },
  {
    name: 'name-never-released',
    breaks: 'A static pod that waits for its name never starts (rule 10)',
    file: NAMES,
    find: `    this.#claim(name, releaseName(this.#claims.get(name), uid));
`,
    replace: ``,
  },
  {
    name: 'adopted-name-is-free',
    breaks: 'A pod that runs when the agent starts does not hold its name (I6, I10)',
    file: NAMES,
    find: `    this.#claim(name, requestName(this.#claims.get(name), pod.uid));
    this.#pods.set(pod.uid, pod);
    this.#adopted.set(name, (this.#adopted.get(name) ?? new Set()).add(pod.uid));
`,
    replace: `    this.#pods.set(name, pod);
`,
  },
  {
    name: 'start-during-removal',
    breaks: 'A UID starts again while its old containers are being removed (rule 9, I8)',
    file: STARTS,
    find: `    if (removal === undefined) {`,
    replace: `    if (true) {`,
  },
  {
    name: 'forgotten-before-removed',
    breaks: 'A UID starts again before its old containers have been removed (rule 9)',
    file: RETIREMENT,
    find: `    const isRemoved = await this.#removeFromRuntime(entry.pod);`,
    replace: `    const isRemoved = (void this.#removeFromRuntime(entry.pod), true);`,
  },
  {
    name: 'orphans-not-killed',
    breaks: 'Pods that run when the agent starts, and are not wanted, are left running (I10)',
    file: CLEANUPS,
    find: `turnover.orphaned();
      this.killRuntimePod(pod);`,
    replace: `turnover.orphaned();`,
  },
  {
    name: 'orphans-not-removed',
    breaks: 'Ended pods that are not wanted are left in the runtime (I10)',
    file: CLEANUPS,
    find: `    for (const pod of plan.removeRuntimePods) void this.#removeFromRuntime(pod);`,
    replace: ``,
  },
  {
    name: 'next-syncs-forgotten',
    breaks: 'When one pod is synced, the next syncs of all others are forgotten (Times, I7)',
    file: WORK_QUEUE,
    find: `  cancel(key: string): void {
    this.#current.delete(key);`,
    replace: `  cancel(key: string): void {
    this.#current.clear();`,
  },

  // Effects
  {
    name: 'stop-believed',
    breaks: 'A stop that reported success is trusted, even if something still runs (rule 7, I3)',
    file: EFFECTS,
    find: `  if (!isRunning(after)) return;`,
    replace: `  if (true) return;`,
  },
  {
    name: 'volumes-released-early',
    breaks: 'Volumes are released when the stop begins (I8)',
    file: EFFECTS,
    find: `  probes.stopLivenessAndStartup(context.uid);`,
    replace: `  await deps.node.release(context.uid);
  probes.stopLivenessAndStartup(context.uid);`,
  },
  {
    name: 'grace-not-passed-on',
    breaks: 'The runtime is asked to stop containers with the grace period of the spec (I4)',
    file: EFFECTS,
    find: `killPod(context.pod, before, context.gracePeriodSeconds, signal)`,
    replace: `killPod(context.pod, before, undefined, signal)`,
  },

  // The state of the runtime
  {
    name: 'stale-read-trusted',
    breaks: 'An effect begins with a status that was read before the last event (rule 7)',
    file: PLEG,
    find: `    if (isStale(record)) return this.read(pod, options);
`,
    replace: ``,
  },
  {
    name: 'failed-read-trusted',
    breaks: 'After a failed read the old status counts as fresh (rule 7)',
    file: PLEG,
    find: `      record.hints += 1;
      throw error;`,
    replace: `      throw error;`,
  },
  {
    name: 'doubt-forgotten',
    breaks: 'The runtime is not read again after an aborted effect (rule 7)',
    file: EFFECTS,
    find: `    if (signal.aborted) pleg.doubt(context.uid);
`,
    replace: ``,
  },
  {
    name: 'relist-finds-nothing',
    breaks: 'A relist never finds what events have missed (Times, I7)',
    file: PLEG,
    find: `      (record) => record.holders === 0 && listed`,
    replace: `      (record) => record.holders < 0 && listed`,
  },

  // Calls to the runtime
  {
    name: 'unstarted-passed-over',
    breaks: 'A second container is created while the start of the first may still succeed (I10)',
    file: STARTER,
    find: `    const made = await step('CreateContainerError', () => this.#settleUnstarted(request));
`,
    replace: `    const made = undefined;
`,
  },
  {
    name: 'start-given-up',
    breaks: 'An aborted sync does not wait for its StartContainer (I2)',
    file: STARTER,
    find: `      await this.#startCreated(request, id, attempt);`,
    replace: `      await Promise.race([
        this.#startCreated(request, id, attempt),
        new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ]);`,
  },
  {
    name: 'start-after-abort',
    breaks: 'A container is started although its pod is to end (I2)',
    file: STARTER,
    find: `      signal.throwIfAborted();
      await this.#startCreated(request, id, attempt);`,
    replace: `      await this.#startCreated(request, id, attempt);`,
  },
  {
    name: 'failed-kill-ignored',
    breaks: 'A container is restarted although the old instance could not be stopped (I10)',
    file: RUNTIME,
    find: `    if (killFailures.length > 0) return killFailures;
`,
    replace: ``,
  },
  {
    name: 'sandbox-left-running',
    breaks: 'A stop ends the containers, but not the sandbox (rule 7, I7)',
    file: KILLER,
    find: `      podStatus.sandboxes.map(({ id }) => this.#runtime.stopPodSandbox(id, { signal })),`,
    replace: `      [],`,
  },
];
