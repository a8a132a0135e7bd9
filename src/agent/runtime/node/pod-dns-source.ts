import { realpath, stat } from 'node:fs/promises';
import { type NodeDNS, parseResolvConf, podDNS } from '../../policies/network/pod-dns.ts';
import { readProvidedFile } from '../../../system/files/foreign-file.ts';
import { patientCalls } from '../../../system/files/patient-calls.ts';
import type { DNSConfig } from '../../../types/cri.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { EventRecorder } from '../../../types/event-recorder.ts';
import type { Pod } from '../../../types/kubernetes.ts';

export interface DNSSettings {
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
}

/** What the sandboxes of pods get for their DNS. A pod that cannot have the DNS that it asks for gets the kubelet's events, once. */
export class PodDNSSource {
  readonly #settings: DNSSettings;
  readonly #resolvConf: ResolvConf;
  readonly #recorder: EventRecorder;
  /** UIDs of the pods that have had their events. */
  readonly #warned = new Set<string>();

  constructor({ recorder }: AgentContext, settings: DNSSettings, resolvConf: ResolvConf) {
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

const DEFAULT_PATH = '/etc/resolv.conf';

/** Where the default path leads with systemd-resolved. It names a server on the node's loopback, which pods cannot reach. */
const SYSTEMD_STUB = '/run/systemd/resolve/stub-resolv.conf';

/** The real servers of systemd-resolved. */
const SYSTEMD_SERVERS = '/run/systemd/resolve/resolv.conf';

const BYTES_MAX = 10 * 1024 * 1024;

interface Read {
  /** Differs for each content of the file. */
  readonly version: string;
  readonly config: DNSConfig;
}

/** The node's resolver configuration. The file is read again only when it has changed. */
export class ResolvConf {
  readonly #path: string;
  #last: Read | undefined;

  /** `path`: the setting `resolvConf`. Empty: pods get nothing of the node's resolver configuration. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Undefined where the path is empty. Rejects with a StateletError of kind FailedPrecondition that names the file. */
  async read(): Promise<DNSConfig | undefined> {
    if (this.#path === '') return undefined;
    try {
      return await this.#readFile(await fileOf(this.#path));
    } catch (error) {
      throw new StateletError(
        'FailedPrecondition',
        `resolvConf ${this.#path}: ${errorMessage(error)}; mend the file, or name another with resolvConf`,
        { cause: error },
      );
    }
  }

  async #readFile(path: string): Promise<DNSConfig> {
    const { ino, size, mtimeMs } = await patientCalls.call(path, () => stat(path));
    const version = [path, ino, size, mtimeMs].join();
    if (this.#last?.version === version) return this.#last.config;
    const config = parseResolvConf(await readProvidedFile(path, { bytesMax: BYTES_MAX }));
    this.#last = { version, config };
    return config;
  }
}

async function fileOf(path: string): Promise<string> {
  if (path !== DEFAULT_PATH) return path;
  const target = await realpath(path);
  return target === SYSTEMD_STUB ? SYSTEMD_SERVERS : path;
}
