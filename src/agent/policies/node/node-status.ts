/** The whole status of a node, computed anew from what is known of the machine, the runtime and the pods. */
import { type Platform, withPlatformLabels } from './initial-node.ts';
import { type Readiness, withPressure, withReady } from './node-conditions.ts';
import {
  type NodeEvent,
  type ResourceFacts,
  schedulableEvent,
  type UpdatedNode,
  withMachineResources,
} from './machine-resources.ts';
import {
  withFeatures,
  withImages,
  withPlatform,
  withPort,
  withRuntimeHandlers,
  withStatusList,
  withVersions,
  type VersionFacts,
} from './node-software.ts';
import { type AddressFacts, withAddresses } from './reported-addresses.ts';
import { PRESSURE_CONDITIONS, type PressureCondition } from '../eviction/signals.ts';
import { rfc3339 } from '../formats/time.ts';
import type { Image, RuntimeHandler } from '../../../types/cri.ts';
import type { Node } from '../../../types/kubernetes.ts';

export interface NodeStatusFacts {
  readonly nowMs: number;
  readonly addresses: AddressFacts;
  readonly resources: ResourceFacts;
  readonly versions: VersionFacts & Platform;
  /** Of the node's own server. */
  readonly port: number;
  /** Undefined: the runtime could not list its images. */
  readonly images: readonly Image[] | undefined;
  /** -1: no limit. */
  readonly maxImages: number;
  readonly handlers: readonly RuntimeHandler[];
  /** Undefined: the runtime has not reported its features. */
  readonly supplementalGroupsPolicy: boolean | undefined;
  /** Features of the API that this node has and not every node of its version, sorted by name. */
  readonly declaredFeatures: readonly string[];
  /** Undefined while it is not known which volumes are in use. */
  readonly volumesInUse: readonly string[] | undefined;
  /** The pressure conditions that are true now. */
  readonly pressure: ReadonlySet<PressureCondition>;
  readonly readiness: Readiness;
}

/** Which events about the node have been sent, so that none is sent twice. */
export interface SentNodeEvents {
  readonly unschedulable: boolean;
  readonly rebooted: boolean;
}

/** Of an agent that has just started. */
export const NO_EVENTS_SENT: SentNodeEvents = { unschedulable: false, rebooted: false };

export interface NodeStatusUpdate extends UpdatedNode {
  /** To be given to the next call, once the events are recorded. */
  readonly sent: SentNodeEvents;
  /** Why some part of the status could not be computed: it stays as it was. */
  readonly problems: readonly string[];
}

/** The node with a status of now. What others have put into its status stays. `node`: as the API server has it, or the initial one. */
export function buildNodeStatus(node: Node, facts: NodeStatusFacts, sent: SentNodeEvents): NodeStatusUpdate {
  const labelled = withPlatformLabels(node, facts.versions);
  const addressed = withAddresses(labelled, facts.addresses);
  const resourced = withMachineResources(addressed.node, facts.resources);
  const equipped = withSoftware(resourced.node, facts);
  const judged = withConditions(equipped, facts);
  const reboots = sent.rebooted ? [] : resourced.events;
  const scheduling = schedulableEvent(judged.node, sent.unschedulable);
  return {
    node: judged.node,
    events: [...reboots, ...judged.events, ...(scheduling ? [scheduling] : [])],
    sent: {
      unschedulable: judged.node.spec?.unschedulable ?? false,
      rebooted: sent.rebooted || reboots.length > 0,
    },
    problems: addressed.problem === undefined ? [] : [addressed.problem],
  };
}

function withSoftware(node: Node, facts: NodeStatusFacts): Node {
  const { versions, port, images, maxImages, handlers, supplementalGroupsPolicy } = facts;
  const steps: readonly ((node: Node) => Node)[] = [
    (before) => withVersions(before, versions),
    (before) => withPlatform(before, versions),
    (before) => withPort(before, port),
    (before) => withImages(before, images, maxImages),
    (before) => withRuntimeHandlers(before, handlers),
    (before) => withFeatures(before, supplementalGroupsPolicy),
    (before) => withStatusList(before, 'declaredFeatures', facts.declaredFeatures),
    (before) => withVolumesInUse(before, facts.volumesInUse),
  ];
  return steps.reduce((before, step) => step(before), node);
}

/** Undefined: it is not known yet, and what an earlier agent has reported stays. */
export function withVolumesInUse(node: Node, volumes: readonly string[] | undefined): Node {
  return volumes === undefined ? node : withStatusList(node, 'volumesInUse', volumes);
}

function withConditions(node: Node, facts: NodeStatusFacts): UpdatedNode {
  const now = rfc3339(facts.nowMs);
  const steps: readonly ((node: Node) => UpdatedNode)[] = [
    ...PRESSURE_CONDITIONS.map(
      (type) => (before: Node) => withPressure(before, type, facts.pressure.has(type), now),
    ),
    (before) => withReady(before, facts.readiness, now),
  ];
  let updated = node;
  const events: NodeEvent[] = [];
  for (const step of steps) {
    const after = step(updated);
    updated = after.node;
    events.push(...after.events);
  }
  return { node: updated, events };
}
