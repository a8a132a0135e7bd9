/** The parts of a simulated agent for CSI and DRA drivers. */
import type { CsiDeps } from '../../agent/actors/volumes/open-csi.ts';
import type { NodeAgentOptions } from '../../agent/actors/node/node-agent-options.ts';
import type { ServerObjects } from '../../agent/cluster/objects/server-objects.ts';
import type { PluginHandlers } from '../../agent/plugins/registration/plugin-handler.ts';
import { CLAIMS_FILE } from '../../agent/runtime/dra/claims-file.ts';
import type { NodeParts, NodeView, PodSubsystem } from '../../agent/runtime/node/pod-node.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { HostDrivers } from '../drivers/host-drivers.ts';
import { type AgentCsi, agentCsi } from './agent-csi.ts';
import { type AgentDra, agentDra } from './agent-dra.ts';

export interface AgentDriversOptions {
  readonly host: HostDrivers;
  readonly cluster: CsiDeps['cluster'];
  readonly nodeName: string;
  readonly objects: ServerObjects;
  readonly isAlive: () => boolean;
}

export class AgentDrivers {
  readonly #context: AgentContext;
  readonly #host: HostDrivers;
  readonly #csi: AgentCsi | undefined;
  readonly #dra: AgentDra | undefined;
  readonly #handlers: PluginHandlers[] = [];

  constructor(context: AgentContext, { host, ...options }: AgentDriversOptions) {
    this.#context = context;
    this.#host = host;
    const { folder, csi, dra } = host;
    this.#csi = csi && agentCsi(context, { ...options, disk: csi.disk, folder });
    const file = dra?.files.file(CLAIMS_FILE, context.clock);
    this.#dra = file && agentDra(context, { ...options, api: options.cluster.api, file, folder });
  }

  get subsystems(): readonly PodSubsystem[] {
    return [this.#csi?.subsystem, this.#dra?.subsystem].filter((part) => part !== undefined);
  }

  get parts(): Pick<NodeParts, 'csi' | 'dra'> {
    return { csi: this.#csi?.node, dra: this.#dra?.node };
  }

  get options(): Pick<NodeAgentOptions, 'csi' | 'dra'> {
    return { csi: this.#noted(this.#csi?.open), dra: this.#noted(this.#dra?.open) };
  }

  /** The agent is put together: drivers register with it. */
  find(): void {
    const handlers = new Map(this.#handlers.flatMap((some) => [...some]));
    this.#host.folder.watchedBy({ handlers, clock: this.#context.clock });
  }

  start(view: NodeView): void {
    this.#dra?.node.start(view);
  }

  #noted<Core, Part extends { readonly handlers: PluginHandlers }>(
    open: ((core: Core) => Part) | undefined,
  ): ((core: Core) => Part) | undefined {
    return (
      open &&
      ((core) => {
        const part = open(core);
        this.#handlers.push(part.handlers);
        return part;
      })
    );
  }
}
