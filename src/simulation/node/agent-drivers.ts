/** The parts of a simulated agent for CSI and DRA drivers. */
import type { NodeAgentOptions } from '../../agent/actors/node/node-agent-options.ts';
import type { PluginHandlers } from '../../agent/plugins/registration/plugin-handler.ts';
import { CLAIMS_FILE } from '../../agent/runtime/dra/claims-file.ts';
import type { NodeParts, NodeView, PodSubsystem } from '../../agent/runtime/node/pod-node.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { DriverFolder } from '../drivers/driver-folder.ts';
import type { SimulatedVolumeDisk } from '../drivers/simulated-volume-disk.ts';
import type { StateFiles } from '../placement/state-files.ts';
import { type AgentCsi, type AgentCsiOptions, agentCsi } from './agent-csi.ts';
import { type AgentDra, agentDra } from './agent-dra.ts';

/** What outlives the agent. */
interface DriversOfHost {
  readonly folder: DriverFolder;
  /** Undefined for a node without drivers of the kind. */
  readonly csi?: { readonly disk: SimulatedVolumeDisk } | undefined;
  readonly dra?: { readonly files: StateFiles } | undefined;
}

export interface AgentDriversOptions extends Omit<AgentCsiOptions, 'disk' | 'folder'> {
  readonly host: DriversOfHost;
}

export class AgentDrivers {
  readonly #context: AgentContext;
  readonly #host: DriversOfHost;
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

  /** Undefined without CSI drivers. */
  get claimFigures(): AgentCsi['figures'] | undefined {
    return this.#csi?.figures;
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
