import { Timer } from '../../system/timer.ts';
import { type Clock, MAX_TIMER_MS } from '../../types/clock.ts';
import {
  SIGKILL_EXIT_CODE,
  type Container,
  type ContainerConfig,
  type ContainerStatus,
  type ContainerStateName,
  type LinuxContainerResources,
} from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import type { Program } from './simulated-program.ts';
import type { ContainerTruth } from './witness.ts';

const NS_PER_MS = 1e6;

/** The parts that all containers of a runtime share. */
export interface ContainerHost {
  readonly clock: Clock;
  started(container: SimulatedContainer, connection: number | undefined): void;
  ended(container: SimulatedContainer, connection: number | undefined): void;
}

/** What a container takes over from the sandbox that it is created in. */
export interface SandboxOfContainer {
  readonly id: string;
  readonly uid: string;
  readonly logDirectory: string;
}

/** One container, from its creation to its end. Keeps only the parts of its configuration that calls and tests ask for. */
export class SimulatedContainer implements ContainerTruth {
  readonly id: string;
  readonly sandboxId: string;
  readonly uid: string;
  readonly metadata: ContainerConfig['metadata'];
  readonly labels: ContainerConfig['labels'];
  readonly annotations: ContainerConfig['annotations'];
  readonly image: string;
  readonly envs: ContainerConfig['envs'];
  readonly createdAt: number;
  /** The resources of the last update; at first those of its creation. */
  resources: LinuxContainerResources | undefined;
  state: ContainerStateName = 'CONTAINER_CREATED';
  startedAt = 0;
  finishedAt = 0;
  exitCode = 0;
  reason = '';
  readonly #host: ContainerHost;
  readonly #logPath: string;
  readonly #program: Program;
  #message = '';
  #listed: Container | undefined;
  readonly #endTimer: Timer;
  /** When the container ends by itself or by its SIGTERM; Infinity: not before it is killed. */
  #endsAt = Infinity;
  /** The connection that sent the first SIGTERM. */
  #termedBy: number | undefined;
  #whenEnded: Set<() => void> | undefined;

  constructor(
    host: ContainerHost,
    sandbox: SandboxOfContainer,
    { id, config, program }: { id: string; config: ContainerConfig; program: Program },
  ) {
    this.#host = host;
    this.id = id;
    this.sandboxId = sandbox.id;
    this.uid = sandbox.uid;
    this.metadata = config.metadata;
    this.labels = config.labels;
    this.annotations = config.annotations;
    this.createdAt = host.clock.now();
    this.image = config.image.image;
    this.envs = config.envs;
    this.resources = config.linux?.resources;
    this.#logPath = config.logPath === '' ? '' : `${sandbox.logDirectory}/${config.logPath}`;
    this.#program = program;
    this.#endTimer = new Timer(host.clock);
  }

  isRunning(): boolean {
    return this.state === 'CONTAINER_RUNNING';
  }

  start(connection: number): void {
    if (this.state !== 'CONTAINER_CREATED') {
      const message = `container ${this.id} cannot be started: it is ${this.state}`;
      throw new StateletError('FailedPrecondition', message);
    }
    const { startError, takesMs, exitCode } = this.#program;
    if (startError !== undefined) {
      this.#message = `the container cannot be started: ${startError.message}`;
      this.#end(startError.exitCode, 'StartError', connection);
      throw new StateletError('Unknown', this.#message);
    }
    this.startedAt = this.#host.clock.now();
    this.#enter('CONTAINER_RUNNING');
    this.#host.started(this, connection);
    if (takesMs !== undefined) this.#endWithin(takesMs, exitCode);
  }

  /** Takes effect at once. Zero and empty values change nothing. */
  resize(resources: LinuxContainerResources): void {
    if (!this.isRunning() && this.state !== 'CONTAINER_CREATED') {
      const message = `container ${this.id} cannot be resized: it is ${this.state}`;
      throw new StateletError('FailedPrecondition', message);
    }
    const given = Object.entries(resources).filter(([, value]) => value !== 0 && value !== '');
    this.resources = { ...resources, ...this.resources, ...Object.fromEntries(given) };
  }

  /** SIGTERM. A second one cannot delay the end that the first one has set. */
  terminate(connection: number): void {
    const { onTerm } = this.#program;
    if (!this.isRunning() || onTerm === undefined) return;
    this.#termedBy ??= connection;
    this.#endWithin(onTerm.takesMs, onTerm.exitCode);
  }

  /** SIGKILL. */
  kill(connection: number | undefined): void {
    this.end(SIGKILL_EXIT_CODE, connection);
  }

  /** Does nothing if the container does not run. */
  end(
    exitCode: number,
    connection: number | undefined,
    reason = exitCode === 0 ? 'Completed' : 'Error',
  ): void {
    if (this.isRunning()) this.#end(exitCode, reason, connection);
  }

  /** Returns a function that takes the callback back. */
  whenEnded(callback: () => void): () => void {
    const callbacks = (this.#whenEnded ??= new Set());
    callbacks.add(callback);
    return () => callbacks.delete(callback);
  }

  /** The same object until the state changes, because every relist asks for it. */
  listed(): Container {
    this.#listed ??= {
      id: this.id,
      podSandboxId: this.sandboxId,
      metadata: this.metadata,
      image: this.image,
      imageRef: this.image,
      state: this.state,
      createdAt: this.createdAt * NS_PER_MS,
      labels: this.labels,
      annotations: this.annotations,
    };
    return this.#listed;
  }

  status(): ContainerStatus {
    return {
      ...this.listed(),
      startedAt: this.startedAt * NS_PER_MS,
      finishedAt: this.finishedAt * NS_PER_MS,
      exitCode: this.exitCode,
      reason: this.reason,
      message: this.#message,
      logPath: this.#logPath,
    };
  }

  /** Ends at once for a delay of 0. An end that was set earlier and comes sooner stays. */
  #endWithin(delayMs: number, exitCode: number): void {
    const endsAt = this.#host.clock.now() + delayMs;
    if (this.#endsAt <= endsAt) return;
    if (delayMs <= 0) this.end(exitCode, this.#termedBy);
    else if (delayMs <= MAX_TIMER_MS) {
      this.#endsAt = endsAt;
      this.#endTimer.arm(delayMs, () => this.end(exitCode, this.#termedBy));
    }
  }

  #end(exitCode: number, reason: string, connection: number | undefined): void {
    this.#endTimer.disarm();
    this.finishedAt = this.#host.clock.now();
    this.exitCode = exitCode;
    this.reason = reason;
    this.#enter('CONTAINER_EXITED');
    this.#host.ended(this, connection);
    const callbacks = this.#whenEnded;
    this.#whenEnded = undefined;
    for (const callback of callbacks ?? []) callback();
  }

  #enter(state: ContainerStateName): void {
    this.state = state;
    this.#listed = undefined;
  }
}
