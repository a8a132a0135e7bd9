/** Watches a running agent from outside, and records each violated invariant of the lifecycle. */
import type { Subscription } from 'xstate';
import type { PodActor } from '../../../src/agent/actors/pods/pod-registry.ts';
import type { TestAgent } from '../../support/agent.ts';

const NAME_LABEL = 'io.kubernetes.pod.name';
const UID_LABEL = 'io.kubernetes.pod.uid';
const ORDER = ['Syncing', 'Terminating', 'Terminated'];

export class InvariantWatch {
  readonly #violations: string[] = [];
  readonly #agent: TestAgent;
  readonly #checks: Promise<void>[] = [];
  readonly #subscriptions: Subscription[] = [];
  readonly #uidOfContainer = new Map<string, string>();
  #kills = 0;
  #answers = 0;
  /** The number of started containers and of incarnations, so that a test can check that the watch has seen some. */
  starts = 0;
  incarnations = 0;

  constructor(agent: TestAgent) {
    this.#agent = agent;
    this.#watchActors();
    this.#watchStarts();
  }

  /** Kills the pod. `unansweredKills` counts the answer (I7). */
  kill(uid: string, podTerminationGracePeriodSecondsOverride?: number): void {
    this.#kills += 1;
    const options = podTerminationGracePeriodSecondsOverride
      ? { podTerminationGracePeriodSecondsOverride }
      : {};
    void this.#agent.supervisor.killPod(uid, options).then(() => (this.#answers += 1));
  }

  get unansweredKills(): number {
    return this.#kills - this.#answers;
  }

  /** I6: at most one incarnation of a full name runs. I10: at most one instance of a container runs. */
  async check(): Promise<void> {
    const uids = new Map<string, Set<string>>();
    const instances = new Set<string>();
    const running = await this.#agent.runtime.listContainers({ state: 'CONTAINER_RUNNING' });
    for (const { labels, metadata } of running) {
      const { [NAME_LABEL]: name = '', [UID_LABEL]: uid = '' } = labels;
      uids.set(name, (uids.get(name) ?? new Set<string>()).add(uid));
      const instance = `${uid}/${metadata.name}`;
      if (instances.has(instance)) this.#violated('I10', instance, 'runs twice');
      instances.add(instance);
    }
    for (const [name, incarnations] of uids) {
      if (incarnations.size > 1) this.#violated('I6', name, `${[...incarnations].join()} run at once`);
    }
  }

  /** Stops watching. Call it before the agent stops. */
  stop(): void {
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
  }

  /** Resolves to all violations when all checks are done. */
  async settle(): Promise<readonly string[]> {
    await Promise.all(this.#checks);
    // A second effect (I5), or another event that the pod's chart does not expect, makes the pod's actor fail.
    for (const line of this.#agent.log) {
      if (line.includes("The pod's actor failed")) this.#violated('I5', 'an actor', line);
    }
    return this.#violations;
  }

  #violated(invariant: string, whose: string, what: string): void {
    this.#violations.push(`${invariant} ${whose}: ${what}`);
  }

  #watchActors(): void {
    const { registry } = this.#agent.supervisor;
    const spawn = registry.spawn.bind(registry);
    registry.spawn = (pod, runtimeHolds, machine) => {
      const entry = spawn(pod, runtimeHolds, machine);
      this.incarnations += 1;
      this.#watchActor(pod.uid, entry.actor);
      return entry;
    };
  }

  #watchActor(uid: string, actor: PodActor): void {
    let rank = 0;
    let graceSeconds = Infinity;
    const next = ({ value, context }: ReturnType<PodActor['getSnapshot']>): void => {
      const [state = ''] = Object.keys(value);
      const now = ORDER.indexOf(state);
      if (now < rank) this.#violated('I1', uid, `${ORDER[rank] ?? ''}, then ${state}`);
      if (now > rank && state === 'Terminated') this.#checks.push(this.#checkTerminated(uid, actor));
      rank = now;
      const { gracePeriodSeconds = Infinity } = context;
      if (gracePeriodSeconds > graceSeconds) {
        this.#violated('I4', uid, `${graceSeconds} s, then ${gracePeriodSeconds} s`);
      }
      graceSeconds = gracePeriodSeconds;
    };
    this.#subscriptions.push(actor.subscribe({ next, error: () => undefined }));
  }

  /** I3: the runtime reports no running container of the UID, unless the UID has been started again by then. */
  async #checkTerminated(uid: string, actor: PodActor): Promise<void> {
    const { runtime, supervisor } = this.#agent;
    const labelSelector = { [UID_LABEL]: uid };
    const [sandboxes, containers] = await Promise.all([
      runtime.listPodSandbox({ state: 'SANDBOX_READY', labelSelector }),
      runtime.listContainers({ state: 'CONTAINER_RUNNING', labelSelector }),
    ]);
    const current = supervisor.registry.get(uid);
    if (current !== undefined && current.actor !== actor) return;
    if (sandboxes.length + containers.length > 0) this.#violated('I3', uid, 'something runs in Terminated');
  }

  /** I2: once the pod is Terminating, no call that may start something is made or still in flight. */
  #watchStarts(): void {
    const { runtime } = this.#agent;
    const real = { ...runtime };
    const guarded = async <T>(uid: string, call: string, work: () => Promise<T>): Promise<T> => {
      this.#checkSyncing(uid, `${call} is issued`);
      try {
        return await work();
      } finally {
        this.#checkSyncing(uid, `${call} was in flight`);
      }
    };
    runtime.runPodSandbox = (config, options) => {
      const { uid } = config.metadata;
      return guarded(uid, 'RunPodSandbox', () => real.runPodSandbox(config, options));
    };
    runtime.createContainer = (sandboxId, config, sandbox, options) => {
      const { uid } = sandbox.metadata;
      return guarded(uid, 'CreateContainer', async () => {
        const id = await real.createContainer(sandboxId, config, sandbox, options);
        this.#uidOfContainer.set(id, uid);
        return id;
      });
    };
    runtime.startContainer = async (id, options) => {
      this.starts += 1;
      // The labels of a container that an earlier agent created have the UID.
      const uid = this.#uidOfContainer.get(id) ?? (await real.containerStatus(id)).labels[UID_LABEL] ?? '';
      return guarded(uid, 'StartContainer', () => real.startContainer(id, options));
    };
  }

  #checkSyncing(uid: string, what: string): void {
    const { registry } = this.#agent.supervisor;
    const isSyncing = registry.get(uid)?.actor.getSnapshot().matches('Syncing') === true;
    if (!isSyncing) this.#violated('I2', uid, `${what} for a pod that is not Syncing`);
  }
}
