import type { PreemptionEvent } from '../../../src/agent/machines/preemption-machine.ts';
import { PREEMPTION_KILL } from '../../../src/agent/policies/preemption/preemption-message.ts';
import type { EvictionTruth } from '../../../src/simulation/judges/eviction/eviction-choice.ts';
import type { PluginTruth } from '../../../src/simulation/judges/plugins/plugin-judge.ts';
import type { Violation } from '../../../src/simulation/history.ts';
import { simulatedNodeFacts } from '../../../src/simulation/node/simulated-node-facts.ts';
import { AdmissionJudge } from '../../../src/simulation/judges/admission-judge.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { requestingPod, type RequestingPod } from '../../support/admission.ts';
import { JudgedPod } from './lifecycle-judge-bed.ts';
import { LEAVE_TO_ASK_FOR_ROOM, LEAVE_TO_START } from '../../support/pod-chart.ts';

/** The events of a start before the pod is admitted. */

export const CRITICAL = 2_000_000_000;

/** A pod that requests this much CPU. Its UID is its name. */
export const pod = (name: string, cpu = '1', more: RequestingPod = {}): Pod =>
  requestingPod(name, { requests: { cpu }, ...more });

export const critical = (name: string, cpu = '1', priority = CRITICAL): Pod => pod(name, cpu, { priority });

export const withPort = (hostPort: number, { metadata, spec }: Pod): Pod => ({
  metadata,
  spec: {
    ...spec,
    containers: [{ name: 'main', ...spec.containers[0], ports: [{ containerPort: 80, hostPort }] }],
  },
});

/** An admission judge, a node of four cores, and pods and preemptions whose events the test sends. */
export class AdmissionJudgeBed {
  nodeFacts = simulatedNodeFacts({ cpu: '4', memory: '4Gi', pods: '10' });
  /** Since the beginning. */
  nowMs = 0;
  readonly #violations: Violation[] = [];
  readonly running = new Set<string>();
  /** What the sources ask for, where it is not what the pods have. */
  readonly desired = new Map<string, Pod>();
  readonly judge: AdmissionJudge;

  /** `found`: UIDs of the pods that run when the agent starts. `eviction`: of a node that evicts; `plugins`: of one with plugins. */
  constructor(found: readonly string[] = [], eviction?: EvictionTruth, plugins?: PluginTruth) {
    for (const uid of found) this.running.add(uid);
    this.judge = new AdmissionJudge({
      node: 3,
      found,
      now: () => this.nowMs,
      nodeFacts: () => this.nodeFacts,
      isRunning: (uid) => this.running.has(uid),
      desired: (uid) => this.desired.get(uid),
      eviction,
      plugins,
      onViolation: (violation) => this.#violations.push(violation),
    });
  }

  /** A pod that awaits its start. */
  waiting(pod: Pod): JudgedPod {
    const onSnapshot = (...shown: Parameters<AdmissionJudge['onSnapshot']>) => {
      this.judge.onSnapshot(...shown);
      return false;
    };
    const judged = new JudgedPod({ onSnapshot, effectBegins: () => () => undefined }, pod);
    return judged.send({ type: 'SyncPodCreate', pod });
  }

  admitted(pod: Pod): JudgedPod {
    return this.waiting(pod).send(...LEAVE_TO_START);
  }

  /** The agent rejects the pod when it asks for room. */
  rejected(pod: Pod, reason: string): JudgedPod {
    return this.waiting(pod).send(...LEAVE_TO_ASK_FOR_ROOM, { type: 'REJECTED', reason, message: reason });
  }

  /** The actor that makes room for the pod receives these events. */
  receives(uid: string, ...events: PreemptionEvent[]): void {
    for (const event of events) this.judge.onPreemptionEvent(uid, event);
  }

  /** The victims are chosen for the pod and killed. It awaits their end, and that of the `others`. */
  makesRoom(preemptor: string, victims: readonly JudgedPod[], others: readonly string[] = []): void {
    const uids = victims.map(({ snapshot }) => snapshot.context.uid);
    this.receives(preemptor, { type: 'PREEMPT' }, selected(uids, others));
    for (const victim of victims) victim.send({ type: 'SyncPodKill', options: PREEMPTION_KILL });
  }

  /** `admission a: what`, after the microtasks in which the judge checks. */
  async reported(): Promise<readonly string[]> {
    await Promise.resolve();
    return this.#violations.map(({ invariant, uid = '', what }) => `${invariant} ${uid}: ${what}`);
  }
}

/** These victims are chosen. The preemptor awaits their end, and that of the `others`. */
export function selected(uids: readonly string[], others: readonly string[] = []): PreemptionEvent {
  const victims = uids.map((uid) => ({
    candidate: {
      uid,
      name: uid,
      namespace: 'default',
      qosClass: 'Burstable',
      priority: 0,
      frees: [],
      memoryBytes: 0,
      milliCPU: 0,
      distance: 0,
    },
    missing: [],
    distance: 0,
  }));
  const decision = { missing: [], candidates: [], victims, unmet: [] };
  return { type: 'VICTIMS_SELECTED', decision, awaited: [...uids, ...others] };
}
