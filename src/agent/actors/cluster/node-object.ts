/** The node's own object at the API server: how it is made, read and written. The result of each request is an event of the chart. */
import { hasReason } from '../../cluster/service/api-error.ts';
import type { ObjectReference } from '../../cluster/service/api-resources.ts';
import type { ApiObject, ApiServer, RequestOptions } from '../../cluster/service/api-server.ts';
import type { NodeContext, NodeEvent } from '../../machines/node-machine.ts';
import { equalJson } from '../../policies/formats/canonical-json.ts';
import { initialNode, type RegistrationSettings } from '../../policies/node/initial-node.ts';
import { LEASE_NAMESPACE } from '../../policies/node/lease-renewal.ts';
import { type MachineIdentity, otherMachine } from '../../policies/node/machine-identity.ts';
import { NO_NODE_INFO } from '../../policies/node/machine-resources.ts';
import {
  buildNodeStatus,
  type NodeStatusFacts,
  type NodeStatusUpdate,
  NO_EVENTS_SENT,
  type SentNodeEvents,
} from '../../policies/node/node-status.ts';
import { mayExist, nodePatch, registrationPatch } from '../../policies/node/registration.ts';
import { isReportDue, nodeHasChanged, NO_REPORT, sentReport } from '../../policies/node/status-report.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { ClusterSettings } from '../../../types/node-settings.ts';
import { errorKind } from '../../../types/errors.ts';
import type { Lease, Node } from '../../../types/kubernetes.ts';

export interface NodeObjectParts {
  /** Of the heartbeats. */
  readonly api: ApiServer;
  readonly settings: Pick<
    ClusterSettings,
    'nodeStatusUpdateFrequencyMs' | 'nodeStatusReportFrequencyMs' | 'nodeLeaseDurationSeconds'
  >;
  readonly registration: RegistrationSettings;
  readonly facts: () => Promise<NodeStatusFacts>;
  /** Parts of the status that could not be built, and stay as they were. Called with each build. */
  readonly onBuilt: (problems: readonly string[]) => void;
  /** The server has another amount of allocatable resources than before. */
  readonly onAllocatable?: () => void;
}

export class NodeObject {
  #latest: Node | undefined;
  readonly #context: AgentContext;
  readonly #parts: NodeObjectParts;
  readonly #target: ObjectReference;
  readonly #status: ObjectReference;
  readonly #life = new AbortController();
  #record = NO_REPORT;
  #sentEvents: SentNodeEvents = NO_EVENTS_SENT;
  #news: NodeStatusUpdate['events'] = [];

  constructor(context: AgentContext, parts: NodeObjectParts) {
    this.#context = context;
    this.#parts = parts;
    this.#target = { resource: 'nodes', name: parts.registration.nodeName };
    this.#status = { ...this.#target, subresource: 'status' };
  }

  /** The events about what the last request wrote. They are returned once. */
  takeNews(): NodeStatusUpdate['events'] {
    const news = this.#news;
    this.#news = [];
    return news;
  }

  /** Requests that are under way fail. */
  stop(): void {
    this.#life.abort();
  }

  /** Creates the object, or makes the existing one fit this node. */
  async register(context: NodeContext): Promise<NodeEvent> {
    const { api, registration } = this.#parts;
    const { clock, measurements } = this.#context;
    const initial = await this.#built(initialNode(registration));
    let existing: Node | undefined;
    try {
      const created = await api.create<Node>({ resource: 'nodes' }, initial.node, this.#requestOptions);
      measurements?.nodeLife.registered(clock.now());
      return this.#accepted(created, initial);
    } catch (error) {
      if (!mayExist(errorKind(error))) throw error;
      existing = await this.#gotten<Node>(this.#target);
      if (existing === undefined) throw error;
    }
    const other = otherMachine(existing, identityOf(initial.node), context);
    if (other !== undefined) return { type: 'OTHER_MACHINE', other, now: clock.now() };
    const patch = registrationPatch(initial.node, existing, registration.resetsExtendedResources === true);
    if (patch === undefined) return this.#accepted(existing, initial);
    return this.#accepted(await api.patch<Node>(this.#status, patch, this.#requestOptions), initial);
  }

  /** As the watch or a newer answer shows it; undefined if there is none, or it is not known. */
  get latest(): Node | undefined {
    return this.#latest;
  }

  /** As the watch shows it. */
  set latest(node: Node | undefined) {
    const before = this.#latest?.status?.allocatable;
    this.#latest = node;
    if (!equalJson(before, node?.status?.allocatable)) this.#parts.onAllocatable?.();
  }

  /** The watch may have shown a newer object before this answer came, and shows nothing until the next change. */
  #answered(node: Node | undefined): void {
    if (node === undefined || this.#latest === undefined || !isOlder(node, this.#latest)) this.latest = node;
  }

  #accepted(node: Node, { events }: NodeStatusUpdate): NodeEvent {
    this.#answered(node);
    this.#news = events;
    return { type: 'REGISTERED', uid: node.metadata.uid ?? '', now: this.#context.clock.now() };
  }

  /** Whether the object exists, and is of this machine. */
  async find(context: NodeContext): Promise<NodeEvent> {
    const { clock } = this.#context;
    const node = await this.#read();
    if (node === undefined) return { type: 'NODE_MISSING', now: clock.now() };
    const { node: rebuilt } = await this.#built(node);
    const other = otherMachine(node, identityOf(rebuilt), context);
    if (other !== undefined) return { type: 'OTHER_MACHINE', other, now: clock.now() };
    return { type: 'NODE_FOUND', uid: node.metadata.uid ?? '', now: clock.now() };
  }

  /** Writes the status where it has changed, or is due. The first try takes the known object, further ones read it from the server. */
  async report(context: NodeContext): Promise<NodeEvent> {
    const facts = await this.#parts.facts();
    const known = context.failures === 0 ? this.latest : undefined;
    if (known !== undefined) {
      const built = this.#build(known, facts);
      // The known object may be old: it only decides what to send.
      if (otherMachine(known, identityOf(built.node), context) === undefined) return this.#sent(known, built);
    }
    const { clock } = this.#context;
    const current = await this.#read();
    if (current === undefined) return { type: 'NODE_MISSING', now: clock.now() };
    const built = await this.#built(current);
    const other = otherMachine(current, identityOf(built.node), context);
    if (other !== undefined) return { type: 'OTHER_MACHINE', other, now: clock.now() };
    return this.#sent(current, built);
  }

  async #sent(before: Node, built: NodeStatusUpdate): Promise<NodeEvent> {
    const { api, settings } = this.#parts;
    const { clock, random } = this.#context;
    const frequencyMs = settings.nodeStatusReportFrequencyMs;
    const hasChanged = nodeHasChanged(before, built.node);
    let node = before;
    if (hasChanged || isReportDue(this.#record, frequencyMs, clock.now())) {
      const patch = nodePatch(before, built.node);
      try {
        node = await api.patch<Node>(this.#status, patch, this.#requestOptions);
      } catch (error) {
        if (hasReason(error, 'NotFound')) return { type: 'NODE_MISSING', now: clock.now() };
        throw error;
      }
      this.#answered(node);
      this.#record = sentReport(this.#record, hasChanged, frequencyMs, random(), clock.now());
    }
    this.#sentEvents = built.sent;
    this.#news = built.events;
    const { uid = '' } = node.metadata;
    return { type: 'REPORTED', uid, isReady: isReady(built.node), now: clock.now() };
  }

  /** Whether the other machine, or its agent, still runs. */
  async lookAtOther(context: NodeContext): Promise<NodeEvent> {
    const found = await this.find(context);
    if (found.type !== 'OTHER_MACHINE') return found;
    const { clock } = this.#context;
    const { nodeName: name } = this.#parts.registration;
    const lease = await this.#gotten<Lease>({ resource: 'leases', namespace: LEASE_NAMESPACE, name });
    return { type: 'OTHER_SEEN', version: lease?.metadata?.resourceVersion, now: clock.now() };
  }

  async #read(): Promise<Node | undefined> {
    const node = await this.#gotten<Node>(this.#target);
    this.#answered(node);
    return node;
  }

  async #gotten<T extends ApiObject>(target: ObjectReference): Promise<T | undefined> {
    try {
      return await this.#parts.api.get<T>(target, this.#requestOptions);
    } catch (error) {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async #built(node: Node): Promise<NodeStatusUpdate> {
    return this.#build(node, await this.#parts.facts());
  }

  #build(node: Node, facts: NodeStatusFacts): NodeStatusUpdate {
    const built = buildNodeStatus(node, facts, this.#sentEvents);
    this.#parts.onBuilt(built.problems);
    return built;
  }

  get #requestOptions(): RequestOptions {
    const { nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds } = this.#parts.settings;
    const timeoutMs = Math.min(nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds * 1000);
    return { timeoutMs, signal: this.#life.signal };
  }
}

/** Versions of one object are numbers that grow: Kubernetes lets clients compare them since 1.35. */
function isOlder({ metadata: one }: Node, { metadata: other }: Node): boolean {
  return one.uid === other.uid && Number(one.resourceVersion) < Number(other.resourceVersion);
}

function identityOf({ status }: Node): MachineIdentity {
  return status?.nodeInfo ?? NO_NODE_INFO;
}

function isReady({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}
