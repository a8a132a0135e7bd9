/** All plugins of a node without sockets and processes: the test decides which sockets exist and what the plugins answer. */
import type { RegisteredPlugin } from '../../src/agent/plugins/registration/plugin-handler.ts';
import {
  Plugins,
  type PluginsParts,
  type ConnectedPlugin,
} from '../../src/agent/actors/plugins/plugin-directory.ts';
import type { ActorContext } from '../../src/agent/actors/actor-context.ts';
import type { HostedPlugin } from '../../src/agent/actors/plugins/plugin-parts.ts';
import type { SocketListener } from '../../src/agent/plugins/registration/plugin-sockets.ts';
import { settled, VirtualClock } from '../../src/simulation/node/virtual-clock.ts';
import { FakePlugin } from './eviction-plugins.ts';
import { FakeRegistration, RSS_INFO } from './fake-registration.ts';
import { type LogLine, recordingLogger } from './recording-logger.ts';
import { testContext } from './test-context.ts';

export class PluginBed {
  readonly clock = new VirtualClock();
  readonly plugins: Plugins;
  readonly lines: readonly LogLine[];
  /** Endpoints of connections that are open. */
  readonly connected: string[] = [];
  /** Thrown instead of the next connection. */
  connectError: Error | undefined;
  changes = 0;
  readonly #registrations = new Map<string, FakeRegistration>();
  #listener: SocketListener | undefined;

  constructor(parts: Partial<PluginsParts> = {}, context: Partial<ActorContext> = {}) {
    const { logger, lines } = recordingLogger();
    this.lines = lines;
    this.plugins = new Plugins(
      { ...testContext({ clock: this.clock, logger }), ...context },
      {
        registryDir: '/nonexistent',
        builtIn: [],
        connect: (registered) => this.#connect(registered),
        openRegistration: (path) => this.at(path).open(),
        onChange: () => (this.changes += 1),
        watchSockets: (listener) => {
          this.#listener = listener;
          return { start: () => undefined, stop: () => Promise.resolve() };
        },
        ...parts,
      },
    );
    this.plugins.start();
  }

  /** The registration service at that path. */
  at(path: string): FakeRegistration {
    const registration = this.#registrations.get(path) ?? new FakeRegistration();
    this.#registrations.set(path, registration);
    return registration;
  }

  appear(path: string): void {
    this.#listener?.onFound(path);
  }

  disappear(path: string): void {
    this.#listener?.onGone(path);
  }

  /** Brings a socket whose plugin is registered under that name. */
  async register(path: string, name = RSS_INFO.name): Promise<HostedPlugin> {
    this.appear(path);
    this.at(path).answer({ name });
    await settled();
    this.at(path).hear();
    await settled();
    return this.hosted(path);
  }

  /** The latest plugin of that socket. */
  hosted(origin: string): HostedPlugin {
    const hosted = this.plugins.all().find((plugin) => plugin.origin === origin);
    if (hosted === undefined) throw new Error(`there is no plugin at ${origin}`);
    return hosted;
  }

  /** `NAME STATE`, of all. */
  states(): readonly string[] {
    return this.plugins.all().map((hosted) => `${hosted.plugin.name} ${hosted.state()}`);
  }

  asked(): readonly string[] {
    return this.plugins.plugins().map(({ plugin }) => plugin.name);
  }

  /** The number of open clients of registration services, and of armed timers. */
  get held(): number {
    const clients = [...this.#registrations.values()].reduce((sum, { connections }) => sum + connections, 0);
    return clients + this.clock.armed;
  }

  #connect({ name, endpoint }: RegisteredPlugin): ConnectedPlugin {
    if (this.connectError !== undefined) throw this.connectError;
    this.connected.push(endpoint);
    let isOpen = true;
    const close = () => {
      if (isOpen) this.connected.splice(this.connected.indexOf(endpoint), 1);
      isOpen = false;
    };
    return Object.assign(new FakePlugin(name), { close });
  }
}
