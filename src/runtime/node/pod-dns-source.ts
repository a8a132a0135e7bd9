import { type NodeDNS, podDNS } from '../../policies/network/pod-dns.ts';
import type { EventRecorder } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { ResolvConf } from './node-resolv-conf.ts';

export interface DNSSettings {
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
}

/** What the sandboxes of pods get for their DNS. A pod whose DNS is not as it asks for gets the kubelet's events, once. */
export class PodDNSSource {
  readonly #settings: DNSSettings;
  readonly #resolvConf: ResolvConf;
  readonly #recorder: EventRecorder;
  /** UIDs of the pods that have had their events. */
  readonly #warned = new Set<string>();

  constructor(settings: DNSSettings, resolvConf: ResolvConf, recorder: EventRecorder) {
    this.#settings = settings;
    this.#resolvConf = resolvConf;
    this.#recorder = recorder;
  }

  async of(pod: Pod): Promise<NodeDNS> {
    const { clusterDNS, clusterDomain } = this.#settings;
    const dns = { clusterDNS, clusterDomain, resolvConf: await this.#resolvConf.read() };
    this.#warn(pod, dns);
    return dns;
  }

  forget(uid: string): void {
    this.#warned.delete(uid);
  }

  #warn(pod: Pod, dns: NodeDNS): void {
    const { uid } = pod.metadata;
    if (this.#warned.has(uid)) return;
    this.#warned.add(uid);
    for (const { reason, message } of podDNS(pod, dns).warnings) {
      this.#recorder.event(pod.metadata, 'Warning', reason, message);
    }
  }
}
