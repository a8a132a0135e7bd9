/** All plugins of this node: built-in eviction plugins, and plugins of all types whose sockets appear in a folder. Each has an actor. */
import type { PluginAuthentication } from '../../plugins/registration/plugin-authentication.ts';
import { askForToken, StaggeredQueue } from '../../plugins/registration/registration-calls.ts';
import type { AnyActorRef } from 'xstate';
import {
  EVICTION_PLUGIN_TYPE,
  evictionOfferProblem,
} from '../../policies/eviction-plugins/plugin-registration.ts';
import type {
  PluginHandler,
  PluginHandlers,
  RegisteredPlugin,
} from '../../plugins/registration/plugin-handler.ts';
import type { RegistrationClient } from '../../plugins/protocol/registration-client.ts';
import { PluginSockets, type SocketListener } from '../../plugins/registration/plugin-sockets.ts';
import { NEVER_ABORTED } from '../../../system/promises.ts';
import { StateletError } from '../../../types/errors.ts';
import type { EvictionPlugin } from '../../../types/eviction-plugin.ts';
import type { ActorContext } from '../actor-context.ts';
import { PluginLog } from './plugin-log.ts';
import type { HostedPlugin, PluginDirectory, PluginSocketView } from './plugin-parts.ts';
import { PluginWorker, type PluginWorkerParts, providePluginMachine } from './plugin-worker.ts';
import { compareTexts } from '../../policies/formats/text-order.ts';

/** For how long plugins that are gone are still shown, and how many of them. */
const GONE_KEPT_MS = 10 * 60_000;
const GONE_MAX = 20;

/** So many registrations at once: each opens a connection. */
const REGISTRATIONS_AT_ONCE = 8;

/** An eviction plugin in another process. */
export type ConnectedPlugin = EvictionPlugin & {
  close(): void;
  /** Rejects where the plugin has no token. */
  getToken?(signal: AbortSignal): Promise<string>;
};

/** Rejects where the plugin has not proved who it is. */
type ProvePlugin = (askToken: (signal: AbortSignal) => Promise<string>) => Promise<void>;

/** Where sockets come from. */
export interface SocketSource {
  start(): void;
  stop(): Promise<void>;
}

export interface PluginsParts {
  /** The folder in which sockets of plugins appear. */
  readonly registryDir: string;
  /** No other plugin can take the name of one of these plugins. */
  readonly builtIn: readonly EvictionPlugin[];
  /** Names of built-in plugins that are switched off: no other plugin can take these either. */
  readonly reservedNames?: readonly string[];
  /** Connects to an eviction plugin. Without it no eviction plugin can register. */
  readonly connect?: (plugin: RegisteredPlugin, prove: ProvePlugin | undefined) => ConnectedPlugin;
  /** Without it, every process that can make a socket in the folder can register as a plugin. */
  readonly authentication?: Pick<PluginAuthentication, 'problemOf'> | undefined;
  /** Plugins that have not proved who they are are refused, so the owner and mode of the folder do not matter. */
  readonly isGuarded?: boolean;
  /** Of plugins of other types. */
  readonly handlers?: PluginHandlers;
  readonly openRegistration: (socketPath: string) => RegistrationClient;
  /** A plugin has come, is gone, or has another state. */
  readonly onChange?: () => void;
  /** Default: the folder is watched. */
  readonly watchSockets?: (listener: SocketListener) => SocketSource;
}

export class Plugins implements PluginDirectory {
  readonly #context: ActorContext;
  readonly #parts: PluginsParts;
  readonly #workerParts: PluginWorkerParts;
  readonly #log: PluginLog;
  readonly #workerOf = new WeakMap<AnyActorRef, PluginWorker>();
  readonly #builtIn: PluginWorker[] = [];
  /** By the path of the socket, as long as that exists: also plugins that were replaced. */
  readonly #bySocket = new Map<string, PluginWorker>();
  /** The plugins that own their names, by name and type. */
  readonly #byName = new Map<string, PluginWorker>();
  /** In the order in which they disappeared. */
  #gone: readonly PluginWorker[] = [];
  readonly #sockets: SocketSource;
  #isStopped = false;

  constructor(context: ActorContext, parts: PluginsParts) {
    this.#context = context;
    this.#parts = parts;
    const { registryDir, openRegistration, handlers = [], onChange, watchSockets } = parts;
    const { clock } = context;
    this.#workerParts = {
      machine: providePluginMachine((actor) => this.#workerOf.get(actor)),
      handlers: new Map([...handlers, ...evictionHandlers(context, parts)]),
      openRegistration,
      log: (this.#log = new PluginLog(context)),
      queue: new StaggeredQueue(clock, REGISTRATIONS_AT_ONCE),
      onServing: (worker) => this.#serving(worker),
      onGone: (worker) => this.#released(worker),
      onChange,
    };
    const listener: SocketListener = {
      onFound: (path) => this.#found(path),
      onGone: (path) => this.#socketGone(path),
    };
    this.#sockets =
      watchSockets?.(listener) ??
      new PluginSockets(context, registryDir, listener, { isGuarded: parts.isGuarded === true });
  }

  plugins(): readonly HostedPlugin[] {
    if (this.#isStopped) return [];
    return [...this.#byName.values()]
      .filter(({ isAsked, isOfOtherType }) => isAsked && !isOfOtherType)
      .sort(byOriginAndName);
  }

  all(): readonly HostedPlugin[] {
    const oldest = this.#context.clock.now() - GONE_KEPT_MS;
    this.#gone = this.#gone.filter((worker) => worker.since() > oldest);
    const here = [...this.#builtIn, ...this.#bySocket.values()].filter(
      (worker) => worker.state() !== 'Gone' && !worker.isOfOtherType,
    );
    return [...here.sort(byOriginAndName), ...this.#gone];
  }

  sockets(): readonly PluginSocketView[] {
    return Array.from(this.#bySocket, ([path, worker]) => ({ path, isRegistered: worker.isAsked }));
  }

  start(): void {
    for (const plugin of this.#parts.builtIn) this.#builtIn.push(this.#begin(plugin));
    this.#sockets.start();
  }

  /** Resolves when the folder is not read, and nothing is connected any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#log.stop();
    const workers = [...this.#builtIn, ...this.#bySocket.values()];
    await Promise.all([this.#sockets.stop(), ...workers.map((worker) => worker.stop())]);
  }

  #begin(source: EvictionPlugin | string): PluginWorker {
    const worker = new PluginWorker(this.#context, source, this.#workerParts);
    this.#workerOf.set(worker.actor, worker);
    worker.start();
    return worker;
  }

  #found(path: string): void {
    if (!this.#isStopped) this.#bySocket.set(path, this.#begin(path));
  }

  #socketGone(path: string): void {
    const worker = this.#bySocket.get(path);
    this.#bySocket.delete(path);
    worker?.socketGone();
  }

  #serving(worker: PluginWorker): void {
    const { nameAndType, origin } = worker;
    const former = this.#byName.get(nameAndType);
    this.#byName.set(nameAndType, worker);
    // A plugin that is there again is not shown as gone.
    this.#gone = this.#gone.filter((other) => other.nameAndType !== nameAndType || other.origin !== origin);
    former?.replaced(origin);
  }

  #released(worker: PluginWorker): void {
    const { nameAndType, wasAsked, isOfOtherType } = worker;
    if (wasAsked && !isOfOtherType) this.#gone = [...this.#gone, worker].slice(-GONE_MAX);
    if (this.#byName.get(nameAndType) !== worker) return;
    this.#byName.delete(nameAndType);
    this.#registerAgain(worker);
  }

  /** A plugin that was replaced, and whose socket still exists, can register its name again. */
  #registerAgain(gone: PluginWorker): void {
    const replaced = [...this.#bySocket].findLast(
      ([, worker]) => worker !== gone && worker.wasAsked && worker.nameAndType === gone.nameAndType,
    );
    if (replaced !== undefined) this.#found(replaced[0]);
  }
}

function evictionHandlers(
  { clock }: ActorContext,
  { builtIn, reservedNames = [], connect, authentication, isGuarded = false }: PluginsParts,
): PluginHandlers {
  if (connect === undefined) return new Map();
  const builtInNames = new Set([...reservedNames, ...builtIn.map(({ name }) => name)]);
  const handler: PluginHandler = {
    problemOf: (offer) => evictionOfferProblem(offer, builtInNames),
    register: (plugin) => {
      const problemOf = async (askToken: (limit: AbortSignal) => Promise<string>, signal: AbortSignal) =>
        authentication?.problemOf(plugin.name, () => askForToken(askToken, { clock, signal }));
      const prove: ProvePlugin = async (askToken) => {
        const problem = await problemOf(askToken, NEVER_ABORTED);
        if (problem !== undefined) throw new StateletError('PermissionDenied', problem);
      };
      const eviction = connect(plugin, isGuarded ? prove : undefined);
      const askToken = (limit: AbortSignal) => eviction.getToken?.(limit) ?? Promise.resolve('');
      return {
        eviction,
        verify: (signal) => problemOf(askToken, signal),
        close: () => eviction.close(),
      };
    },
  };
  return new Map([[EVICTION_PLUGIN_TYPE, handler]]);
}

/** Built-in ones first. */
function byOriginAndName(a: PluginWorker, b: PluginWorker): number {
  return Number(b.isBuiltIn) - Number(a.isBuiltIn) || compareTexts(a.plugin.name, b.plugin.name);
}
