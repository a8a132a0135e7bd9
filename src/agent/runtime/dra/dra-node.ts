/** What DRA drivers do on this node: they prepare the ResourceClaims of a pod before its sandbox, and unprepare them after its containers. */
import { Subject } from 'rxjs';
import type { ContainerAdditions } from '../../policies/cri/container-config.ts';
import { isRunning } from '../../policies/cri/runtime-pod-status.ts';
import { cdiIdsOf, claimHealth, type ClaimState } from '../../policies/dra/claim-devices.ts';
import {
  claimName,
  containerClaims,
  hasClaims,
  type PodClaim,
  podClaims,
  usableClaimDrivers,
} from '../../policies/dra/pod-claims.ts';
import type { ClaimWait } from '../../policies/pod/pod-wait.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { ResourceClaimObjects } from '../../../types/api-objects.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Container, ContainerStatus, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { HeldClaim } from '../../../types/pod-resources.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type { PodWaits } from '../node/pod-waits.ts';
import type { StateFile } from '../node/state-file.ts';
import { NodeDrivers } from './node-drivers.ts';

/** Keeps claims prepared as long as pods use them. */
export interface ClaimKeeper {
  /** Resolves when all of the claims are prepared for the pod. */
  use(pod: string, claims: readonly ClaimState[], signal: AbortSignal): Promise<void>;
  /** No container of the pod runs any more. Resolves when the claims that only this pod has used are unprepared. */
  leave(pod: string): Promise<void>;
  claims(): readonly ClaimState[];
  /** Whether the claim is prepared, and for the pod. */
  isPrepared(claim: Pick<ClaimState, 'namespace' | 'name'>, pod: string): boolean;
  waitOf(pod: string): ClaimWait | undefined;
}

export interface DraNodeParts {
  readonly objects: ResourceClaimObjects;
  readonly file: StateFile<readonly ClaimState[]>;
}

export class DraNode implements PodWaits {
  readonly drivers: NodeDrivers;
  readonly waitChanges = new Subject<readonly string[]>();
  /** What an earlier agent has left. */
  readonly found: readonly ClaimState[];
  readonly #context: AgentContext;
  readonly #parts: DraNodeParts;
  #keeper: ClaimKeeper | undefined;
  #pods: () => Iterable<RuntimePodStatus> = () => [];
  /** UIDs of pods that wait for a driver to register, with its name. */
  readonly #lacking = new Map<string, string>();

  /** Throws where the file of an earlier agent cannot be read. */
  constructor(context: AgentContext, parts: DraNodeParts) {
    this.#context = context;
    this.#parts = parts;
    this.drivers = new NodeDrivers(context);
    this.found = parts.file.read() ?? [];
  }

  /** Before the first pod is started. */
  set keeper(keeper: ClaimKeeper) {
    this.#keeper = keeper;
  }

  start(view: { readonly pods: () => Iterable<RuntimePodStatus> }): void {
    this.#pods = view.pods;
  }

  /** Resolves when the file has all claims that are prepared, or may be. */
  async save(): Promise<void> {
    try {
      await this.#parts.file.write(() => this.#claims());
      const { all, byDriver } = this.#heldCounts();
      this.#context.measurements?.dra.claimsInUse(all, byDriver);
    } catch (error) {
      const message = `checkpoint ResourceClaim state: ${errorMessage(error)}`;
      throw new StateletError('Unknown', message, { cause: error });
    }
  }

  /** Claims that are prepared are prepared again only for a new sandbox. */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    if (!hasClaims(pod) || (this.#runs(pod.metadata.uid) && this.#areAllPrepared(pod))) return;
    const end = this.#context.measurements?.dra.operation('PrepareResources');
    try {
      await this.#prepare(pod, signal);
      end?.('success');
    } catch (error) {
      end?.('failure');
      throw new StateletError('Unknown', `prepare dynamic resources: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  /**
   * Checks all claims of the pod before it calls a driver or writes the file: a pod that is deleted before that needs no
   * clean-up.
   */
  async #prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    this.#lacking.delete(uid);
    const claims: ClaimState[] = [];
    for (const claim of podClaims(pod)) claims.push(await this.#usable(pod, claim));
    signal.throwIfAborted();
    if (claims.length > 0) await this.#keeper?.use(uid, claims, signal);
  }

  async #usable(pod: Pod, claim: PodClaim): Promise<ClaimState> {
    const { namespace, uid: podUID } = pod.metadata;
    const { name } = claim;
    const object = await this.#parts.objects.resourceClaim(namespace, name).catch((error: unknown) => {
      throw new StateletError('Unavailable', `fetch ResourceClaim ${name}: ${errorMessage(error)}`);
    });
    if (object === undefined) {
      const problem = `resourceclaims.resource.k8s.io "${name}" not found`;
      throw new StateletError('NotFound', `fetch ResourceClaim ${name}: ${problem}`);
    }
    const drivers = usableClaimDrivers(pod, claim, object);
    for (const driver of drivers) {
      this.#lacking.set(podUID, driver);
      this.drivers.get(driver);
      this.#lacking.delete(podUID);
    }
    const uid = object.metadata?.uid ?? '';
    const states = drivers.map((driver) => [driver, []] as const);
    return { uid, namespace, name, pods: [], drivers: Object.fromEntries(states) };
  }

  /** UIDs of the pods that wait for the driver to register. */
  lacking(driver: string): readonly string[] {
    return [...this.#lacking].flatMap(([uid, lacked]) => (lacked === driver ? [uid] : []));
  }

  async release(uid: string): Promise<void> {
    this.#lacking.delete(uid);
    if (!this.holds(uid)) return;
    const end = this.#context.measurements?.dra.operation('UnprepareResources');
    try {
      await this.#keeper?.leave(uid);
      end?.('success');
    } catch (error) {
      end?.('failure');
      throw new StateletError('Unknown', `unprepare dynamic resources: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  /** A driver may have something prepared for the pod. */
  holds(uid: string): boolean {
    return this.#claims().some(({ pods }) => pods.includes(uid));
  }

  /** The UIDs of those pods. */
  get holders(): readonly string[] {
    return [...new Set(this.#claims().flatMap(({ pods }) => pods))];
  }

  /** The UIDs of the pods that have a claim of the driver. */
  readonly users = (driver: string): readonly string[] => [
    ...new Set(this.#claims().flatMap(({ drivers, pods }) => (Object.hasOwn(drivers, driver) ? pods : []))),
  ];

  waitOf(uid: string): ClaimWait | undefined {
    return this.#keeper?.waitOf(uid);
  }

  /** What the container's configuration has of its claims. */
  additions(pod: Pod, container: Container | EphemeralContainer): ContainerAdditions {
    const names = new Set<string>();
    for (const [name, requests] of containerClaims(pod, container)) {
      const state = this.#claim(pod, name);
      if (state === undefined) {
        const claim = `ResourceClaim ${name} in namespace ${pod.metadata.namespace}`;
        throw new StateletError('Internal', `unable to get claim info for ${claim}`);
      }
      for (const id of cdiIdsOf(state, requests)) names.add(id);
    }
    return names.size === 0 ? {} : { cdiDevices: Array.from(names, (name) => ({ name })) };
  }

  /** `allocatedResourcesStatus` of the container; undefined where it has nothing of a claim. */
  statusOf(pod: Pod, name: string): ContainerStatus['allocatedResourcesStatus'] {
    const { resources } = pod.spec.containers.find((container) => container.name === name) ?? {};
    const statuses = (resources?.claims ?? []).flatMap((used) => {
      const name = claimName(pod, used.name);
      const state = name === undefined ? undefined : this.#claim(pod, name);
      return (state && claimHealth(used, state, this.drivers.healthOf)) ?? [];
    });
    return statuses.length === 0 ? undefined : statuses;
  }

  /** As in PodResources: each claim of the container as a whole. */
  heldClaims(pod: Pod, container: Container): readonly HeldClaim[] {
    return [...containerClaims(pod, container).keys()].flatMap((name) => this.#claim(pod, name) ?? []);
  }

  /** How many claims each driver has prepared for pods, or may have. */
  #heldCounts(): { readonly all: number; readonly byDriver: ReadonlyMap<string, number> } {
    const claims = this.#claims();
    const byDriver = new Map<string, number>();
    for (const driver of claims.flatMap(({ drivers }) => Object.keys(drivers)))
      byDriver.set(driver, (byDriver.get(driver) ?? 0) + 1);
    return { all: claims.length, byDriver };
  }

  #claims(): readonly ClaimState[] {
    return this.#keeper?.claims() ?? this.found;
  }

  #claim({ metadata }: Pod, name: string): ClaimState | undefined {
    return this.#claims().find((claim) => claim.namespace === metadata.namespace && claim.name === name);
  }

  #areAllPrepared(pod: Pod): boolean {
    const { namespace, uid } = pod.metadata;
    return podClaims(pod).every(({ name }) => this.#keeper?.isPrepared({ namespace, name }, uid) === true);
  }

  #runs(uid: string): boolean {
    for (const pod of this.#pods()) if (pod.uid === uid) return isRunning(pod);
    return false;
  }
}
