/** The status manager in the stories of the golden vectors: a pod manager and an API server that hold one pod. */
import { StatusManager } from '../../src/agent/actors/pods/status-manager.ts';
import { applyStrategicMergePatch } from './apply-strategic-merge.ts';
import { POD_STATUS_RULES } from '../../src/agent/policies/formats/strategic-merge.ts';
import { rfc3339 } from '../../src/agent/policies/formats/time.ts';
import { servedPodStatus } from '../../src/agent/policies/cluster/served-pod-status.ts';
import {
  type KnownPods,
  outdatedVersions,
  podsToWrite,
  type StatusRequest,
  writeStatus,
} from '../../src/agent/policies/cluster/status-write.ts';
import type { Pod, PodSpec, PodStatus } from '../../src/types/kubernetes.ts';
import { clockOf, testContext } from './test-context.ts';

/** A pod as it is in a vector: some pods have no metadata, some no containers. */
export interface LoosePod {
  readonly metadata?: Partial<Pod['metadata']>;
  readonly spec?: Omit<Partial<PodSpec>, 'containers'> & {
    readonly containers?: PodSpec['containers'] | null;
  };
  readonly status?: PodStatus;
}

export interface StoryInput {
  readonly pod: LoosePod;
  readonly mirrorPod: LoosePod | null;
  readonly apiPod: LoosePod | null;
  /** Unix seconds. */
  readonly now: number;
}

export type StoryStep =
  | { readonly op: 'advance'; readonly seconds: number }
  | { readonly op: 'setPodStatus'; readonly status: PodStatus }
  | { readonly op: 'terminatePod' | 'podFromApi' | 'removePod' }
  | { readonly op: 'setContainerReadiness'; readonly containerID: string; readonly ready: boolean }
  | { readonly op: 'setContainerStartup'; readonly containerID: string; readonly started: boolean }
  | { readonly op: 'updatePod'; readonly pod: LoosePod }
  | { readonly op: 'setApiPod'; readonly pod: LoosePod | null }
  | { readonly op: 'removeOrphanedStatuses'; readonly podUIDs: readonly string[] }
  | { readonly op: 'syncBatch'; readonly all: boolean; readonly couldHaveRunningContainers: boolean };

export function wholePod({ metadata, spec, status }: LoosePod): Pod {
  return {
    metadata: { name: 'p', namespace: 'ns', uid: 'u1', ...metadata },
    spec: { ...spec, containers: spec?.containers ?? [] },
    ...(status && { status }),
  };
}

/** `staticUID`: the UID that is known here for that of the mirror pod. */
export function podManager(
  pod: Pod | undefined,
  mirrorPod: Pod | undefined,
  staticUID = pod?.metadata.uid ?? '',
): KnownPods {
  return {
    get: (uid) => (pod?.metadata.uid === uid ? pod : undefined),
    mirrorPodOf: () => mirrorPod,
    translateUID: (uid) => (uid === mirrorPod?.metadata.uid ? staticUID : uid),
  };
}

export class StatusStory {
  readonly #manager = new StatusManager(testContext({ clock: clockOf(() => this.#now * 1000) }), {
    ownMirrorPodOf: () => this.#mirrorPod,
  });
  readonly #mirrorPod: Pod | undefined;
  readonly #uid: string;
  readonly #written = new Map<string, number>();
  #pod: Pod;
  #isKnown = true;
  #apiPod: Pod | undefined;
  #now: number;
  #shown = 'null';
  #notifications: object[] = [];
  #actions: object[] = [];

  constructor({ pod, mirrorPod, apiPod, now }: StoryInput) {
    this.#pod = wholePod(pod);
    this.#uid = this.#pod.metadata.uid;
    this.#mirrorPod = mirrorPod ? wholePod(mirrorPod) : undefined;
    this.#apiPod = apiPod ? wholePod(apiPod) : undefined;
    this.#now = now;
    this.#manager.news.subscribe(({ uid, isNew, podIsFinished }) => {
      this.#notifications.push(
        podIsFinished ? { kind: 'removed', uid } : { kind: 'updated', uid, isAdded: isNew },
      );
    });
  }

  /** Of each step: what was done, and what is cached where that has changed. */
  run(steps: readonly StoryStep[]): unknown[] {
    return steps.map((step) => {
      this.#notifications = [];
      this.#actions = [];
      const told = this.#step(step);
      const cached = this.#cached();
      const shown = JSON.stringify(cached);
      const isOther = shown !== this.#shown;
      this.#shown = shown;
      return {
        ...told,
        ...(isOther && { cached }),
        ...(this.#notifications.length > 0 && { notifications: this.#notifications }),
        ...(this.#actions.length > 0 && { actions: this.#actions }),
      };
    });
  }

  #cached(): object | null {
    const entry = this.#manager.entry(this.#uid);
    if (entry === undefined) return null;
    const { version, podIsFinished, status } = entry;
    return { version, podIsFinished, status: servedPodStatus(status) };
  }

  #step(step: StoryStep): object {
    switch (step.op) {
      case 'setPodStatus':
        return { changed: this.#manager.set(this.#pod, step.status) };
      case 'podFromApi':
        if (this.#apiPod?.metadata.uid !== this.#uid) return { pod: 'gone' };
        this.#pod = this.#apiPod;
        return { pod: 'updated' };
      case 'syncBatch':
        return { syncs: this.#syncBatch(step.all, step.couldHaveRunningContainers) };
      case 'advance':
        this.#now += step.seconds;
        return {};
      case 'terminatePod':
        // The kubelet builds upon the static pod's own status, and empties the status at the API server.
        this.#manager.terminate(this.#pod, this.#pod.status ?? {});
        return {};
      case 'setContainerReadiness':
        if (this.#isKnown) this.#manager.setContainerReadiness(this.#pod, step.containerID, step.ready);
        return {};
      case 'setContainerStartup':
        if (this.#isKnown) this.#manager.setContainerStartup(this.#pod, step.containerID, step.started);
        return {};
      case 'updatePod':
        this.#pod = wholePod(step.pod);
        return {};
      case 'setApiPod':
        this.#apiPod = step.pod ? wholePod(step.pod) : undefined;
        return {};
      case 'removePod':
        this.#isKnown = false;
        return {};
      case 'removeOrphanedStatuses':
        this.#manager.keepOnly((uid) => step.podUIDs.includes(uid));
        return {};
    }
  }

  #syncBatch(all: boolean, couldHaveRunningContainers: boolean): number {
    const pods = podManager(this.#isKnown ? this.#pod : undefined, this.#mirrorPod, this.#uid);
    if (all) this.#forgetOutdated(pods);
    const due = podsToWrite({ entries: this.#manager.entries(), written: this.#written, pods, all });
    for (const { uid, entry } of due) {
      const conversation = writeStatus({
        uid,
        entry,
        pods,
        couldHaveRunningContainers: () => couldHaveRunningContainers,
        now: () => rfc3339(this.#now * 1000),
        onWritten: (apiUID, _, disruption) => {
          if (disruption) this.#manager.disruptionTold(uid, disruption);
          this.#written.set(apiUID, entry.version);
        },
      });
      let step = conversation.next();
      while (step.done !== true) step = conversation.next(this.#answer(step.value));
      if (step.value === 'replaced' || step.value === 'deleted') this.#manager.drop(uid);
    }
    return due.length;
  }

  #forgetOutdated(pods: KnownPods): void {
    const known = (uid: string) => this.#manager.entry(uid) !== undefined;
    for (const uid of outdatedVersions({ written: this.#written, pods, known })) this.#written.delete(uid);
  }

  #answer(request: StatusRequest): Pod | undefined {
    const name = 'p';
    switch (request.verb) {
      case 'get':
        this.#actions.push({ verb: 'get', name });
        break;
      case 'patch': {
        this.#actions.push({ verb: 'patch', name, subresource: 'status', patch: request.patch });
        const { status = {}, ...pod } = this.#apiPod ?? this.#pod;
        const change = request.patch.status as PodStatus;
        this.#apiPod = { ...pod, status: applyStrategicMergePatch(status, change, POD_STATUS_RULES) };
        break;
      }
      case 'delete':
        this.#actions.push({ verb: 'delete', name, gracePeriodSeconds: 0, preconditionUID: request.uid });
        this.#apiPod = undefined;
        break;
    }
    return this.#apiPod;
  }
}
