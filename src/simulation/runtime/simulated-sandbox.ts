import type { PodSandbox, PodSandboxConfig, PodSandboxStatus } from '../../types/cri.ts';
import type { SimulatedContainer } from './simulated-container.ts';
import type { SandboxTruth } from './witness.ts';

const NS_PER_MS = 1e6;

/** One sandbox with its containers, oldest first. */
export class SimulatedSandbox implements SandboxTruth {
  readonly id: string;
  readonly metadata: PodSandboxConfig['metadata'];
  readonly labels: PodSandboxConfig['labels'];
  readonly annotations: PodSandboxConfig['annotations'];
  readonly logDirectory: string;
  readonly createdAt: number;
  readonly containers: SimulatedContainer[] = [];
  readonly #networkMode: NonNullable<PodSandboxStatus['networkMode']>;
  readonly #runtimeHandler: string | undefined;
  #ready = true;
  #ip = '';
  #listed: PodSandbox | undefined;

  constructor(
    config: PodSandboxConfig,
    { id, createdAt, runtimeHandler }: { id: string; createdAt: number; runtimeHandler: string | undefined },
  ) {
    this.id = id;
    this.metadata = config.metadata;
    this.labels = config.labels;
    this.annotations = config.annotations;
    this.logDirectory = config.logDirectory;
    this.createdAt = createdAt;
    this.#networkMode = config.linux?.securityContext?.namespaceOptions.network ?? 'POD';
    this.#runtimeHandler = runtimeHandler;
  }

  get uid(): string {
    return this.metadata.uid;
  }

  get ready(): boolean {
    return this.#ready;
  }

  set ready(ready: boolean) {
    this.#ready = ready;
    this.#listed = undefined;
  }

  /** The same object until the state changes, because every relist asks for it. */
  listed(): PodSandbox {
    const runtimeHandler = this.#runtimeHandler;
    this.#listed ??= {
      id: this.id,
      metadata: this.metadata,
      state: this.#ready ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
      createdAt: this.createdAt * NS_PER_MS,
      labels: this.labels,
      annotations: this.annotations,
      runtimeHandler,
    };
    return this.#listed;
  }

  status(): PodSandboxStatus {
    const networkMode = this.#networkMode;
    const hasNetwork = this.#ready && networkMode === 'POD';
    return { ...this.listed(), networkMode, ...(hasNetwork && { network: { ip: this.#address() } }) };
  }

  /** An address by a hash of the id; two sandboxes may share one, as it has 24 bits only. */
  #address(): string {
    if (this.#ip !== '') return this.#ip;
    let bits = 0;
    for (let index = 0; index < this.id.length; index += 1) {
      bits = Math.imul(bits ^ this.id.charCodeAt(index), 0x01000193) >>> 0;
    }
    this.#ip = `10.${(bits >>> 16) & 0xff}.${(bits >>> 8) & 0xff}.${bits & 0xff}`;
    return this.#ip;
  }
}
