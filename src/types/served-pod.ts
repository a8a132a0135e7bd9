import type { Pod, PodStatus } from './kubernetes.ts';

/** A pod as `/pods` serves it. */
export interface ServedPod {
  readonly pod: Pod;
  /** As computed by the agent; without it the status of the pod object is served. */
  readonly status?: PodStatus;
  /** The state of the pod's chart: `Syncing.Settled`. */
  readonly state: string;
  /** Why the pod, or one of its containers, has not been started, in words for people: `waits for default/old (UID …) to end: …`. */
  readonly waitsFor?: string;
  /** CPUs that its containers have for themselves, such as `2-3`; undefined where they have none. */
  readonly ownCpus?: string;
}

/** The actor of a pod, as the kubelet's metrics show its worker. */
export interface PodWorker {
  readonly lifecycle: 'sync' | 'terminating' | 'terminated';
  /** `orphan`: no source wants the pod any more. `runtime_only`: only the runtime knows it. */
  readonly config: 'desired' | 'orphan' | 'runtime_only';
  readonly isStatic: boolean;
}

/** A pod as people see it who watch the node. */
export interface LivePod extends ServedPod {
  /** What it does now, of a pod that does not just run: `waits for the image …; next try at …`. */
  readonly why?: string;
}

/** The pods of a node, for as long as people watch it. */
export interface LivePods {
  list(): readonly LivePod[];
  /** Calls with each new status of a pod, by its UID: between two lists a pod may end and go. */
  onStatus(listener: (uid: string, status: PodStatus) => void): void;
}
