import {
  decideProbe,
  judge,
  NEW_PROBE_RECORD,
  type ProbeKind,
  type ProbeOutcome,
  type ProbeTarget,
  type SeenContainer,
  type Sighting,
} from '../../src/agent/policies/probes/probe.ts';
import type { Container, Pod } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

type Outcome = 'success' | 'warning' | 'failure' | 'unknown' | 'error';

interface Step {
  readonly podStatus: null | {
    readonly phase: string;
    readonly container: null | {
      readonly id: string;
      readonly state: SeenContainer['state'];
      readonly runningForSeconds: number | null;
      readonly exitCode: number | null;
      readonly started: boolean | null;
    };
  };
  readonly outcome: Outcome;
}

interface Input {
  readonly probeType: 'Liveness' | 'Readiness' | 'Startup';
  readonly probe: Container['livenessProbe'];
  readonly pod: Pod;
  readonly kubeletUptimeSeconds: number;
  readonly steps: readonly Step[];
}

const NOW = Date.UTC(2030, 0, 1);
/** What the results of handlers count as: a warning is a success, and an unknown result a failure. */
const OUTCOMES: Readonly<Record<Outcome, ProbeOutcome>> = {
  success: 'Success',
  warning: 'Success',
  failure: 'Failure',
  unknown: 'Failure',
  error: 'Error',
};

export const adapter: VectorAdapter = {
  adapt({ probeType, probe, pod, kubeletUptimeSeconds, steps }: Input) {
    const target = targetOf(pod, probeType.toLowerCase() as ProbeKind, probe);
    let record = NEW_PROBE_RECORD;
    let keepGoing = true;
    const results: unknown[] = [];
    for (const { podStatus, outcome } of steps) {
      if (!keepGoing) break;
      const decision = decideProbe(target, record, sighting(podStatus), NOW - kubeletUptimeSeconds * 1000);
      const probed = decision.step.kind === 'probe' && decision.step.notBefore <= NOW;
      keepGoing = decision.step.kind !== 'over';
      record = probed ? judge(target, decision.record, OUTCOMES[outcome]) : decision.record;
      const { result = null, onHold, resultRun } = record;
      results.push({ keepGoing, probed, result, onHold, resultRun });
    }
    return { steps: results };
  },
};

function targetOf(pod: Pod, kind: ProbeKind, probe: Input['probe']): ProbeTarget {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const container = containers.find(({ name }) => name === 'c')!;
  return { kind, pod, container: { ...container, [`${kind}Probe`]: probe } };
}

function sighting(podStatus: Step['podStatus']): Sighting | undefined {
  if (podStatus === null) return undefined;
  const { phase, container } = podStatus;
  return { phase, container: container ? seenContainer(container) : undefined };
}

function seenContainer({
  id,
  state,
  runningForSeconds,
  exitCode,
  started,
}: NonNullable<NonNullable<Step['podStatus']>['container']>): SeenContainer {
  const common = { id, started: started === true };
  switch (state) {
    case 'running':
      return { ...common, state, startedAt: NOW - (runningForSeconds ?? 0) * 1000 };
    case 'terminated':
      return { ...common, state, exitCode: exitCode ?? 0 };
    case 'waiting':
      return { ...common, state };
  }
}
