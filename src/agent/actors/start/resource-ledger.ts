import { resourceAmount, type UsedResources } from '../../policies/admission/used-resources.ts';
import { hostPorts } from '../../policies/network/port-mappings.ts';
import { podRequests } from '../../policies/pod/resources.ts';
import type { PortMapping } from '../../../types/cri.ts';
import type { Pod } from '../../../types/kubernetes.ts';

/** What the pod was granted at admission, or by a resize since. An update of its spec alone changes nothing. */
interface Share {
  readonly pod: Pod;
  readonly amounts: readonly (readonly [resource: string, amount: number])[];
  readonly ports: readonly PortMapping[];
}

/** What the pods of this node hold, added up once per pod: an admission takes the same time however many pods there are. */
export class ResourceLedger implements UsedResources {
  /** By UID, in the order of admission. */
  readonly #shares = new Map<string, Share>();
  readonly #amounts = new Map<string, number>();
  readonly #ports = new Map<number, readonly PortMapping[]>();

  get pods(): number {
    return this.#shares.size;
  }

  amount(resource: string): number {
    return this.#amounts.get(resource) ?? 0;
  }

  portsOf(hostPort: number): readonly PortMapping[] {
    return this.#ports.get(hostPort) ?? [];
  }

  has(uid: string): boolean {
    return this.#shares.has(uid);
  }

  podOf(uid: string): Pod | undefined {
    return this.#shares.get(uid)?.pod;
  }

  /** The resources of all other pods. */
  besides(uid: string): UsedResources {
    const own = this.#shares.get(uid);
    if (own === undefined) return this;
    const amounts = new Map(own.amounts);
    return {
      pods: this.pods - 1,
      amount: (resource) => this.amount(resource) - (amounts.get(resource) ?? 0),
      portsOf: (hostPort) => this.portsOf(hostPort).filter((port) => !own.ports.includes(port)),
    };
  }

  /** The pod keeps its place in the order, and holds what it requests now. Throws the errors of `parseQuantity`, and then changes nothing. */
  replace(pod: Pod): void {
    const { uid } = pod.metadata;
    const before = this.#shares.get(uid);
    const share = shareOf(pod);
    if (before === undefined) return;
    for (const [resource, amount] of before.amounts) this.#change(resource, -amount);
    for (const [resource, amount] of share.amounts) this.#change(resource, amount);
    // Ports do not change.
    this.#shares.set(uid, { ...share, ports: before.ports });
  }

  /** In the order of admission, with what was granted last. */
  holders(): readonly Pod[] {
    return [...this.#shares.values()].map(({ pod }) => pod);
  }

  /** Throws the errors of `parseQuantity`, and then adds nothing. */
  add(pod: Pod): void {
    const { uid } = pod.metadata;
    if (this.#shares.has(uid)) return;
    const share = shareOf(pod);
    this.#shares.set(uid, share);
    for (const [resource, amount] of share.amounts) this.#change(resource, amount);
    for (const port of share.ports) this.#ports.set(port.hostPort, [...this.portsOf(port.hostPort), port]);
  }

  /** Returns whether the pod held anything. */
  remove(uid: string): boolean {
    const share = this.#shares.get(uid);
    if (share === undefined) return false;
    this.#shares.delete(uid);
    for (const [resource, amount] of share.amounts) this.#change(resource, -amount);
    for (const port of share.ports) this.#release(port);
    return true;
  }

  #change(resource: string, by: number): void {
    this.#amounts.set(resource, this.amount(resource) + by);
  }

  #release(port: PortMapping): void {
    const rest = this.portsOf(port.hostPort).filter((other) => other !== port);
    if (rest.length > 0) this.#ports.set(port.hostPort, rest);
    else this.#ports.delete(port.hostPort);
  }
}

function shareOf(pod: Pod): Share {
  const requests = [...podRequests(pod)];
  const amounts = requests.map(([name, quantity]) => [name, resourceAmount(name, quantity)] as const);
  return { pod, amounts, ports: hostPorts(pod.spec) };
}
