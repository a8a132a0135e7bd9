/** Runs the daemon with a containerd of the test, or another runtime. */
import { systemClock } from '../../src/system/timer.ts';
import { testContext } from './test-context.ts';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { qosCgroups, uidOfPodCgroup } from '../../src/agent/policies/cgroups/cgroup-names.ts';
import { createCriRuntime } from '../../src/agent/runtime/cri/cri-runtime.ts';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import type { Container, Pod } from '../../src/types/kubernetes.ts';
import { makeCgroup } from './containerd/cgroups.ts';
import { type ContainerdBed, startContainerd } from './containerd/containerd.ts';
import { containerStatus, DaemonBed, namesIn } from './daemon.ts';
import type { Launcher } from './launcher.ts';
import { PATIENCE_MS } from './wait-for.ts';

export interface CriDaemonOptions {
  /** Fields of KubeletConfiguration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Keeps logs in the agent's folder of pods, instead of a separate folder. */
  readonly logsAmongPods?: boolean;
}

/** A shell script that runs until SIGTERM, and then ends at once. */
export const SERVING = 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done';
export const SERVE = ['sh', '-c', SERVING];

/** The parts of the runtime of the test that a daemon needs. */
export interface RuntimeBed {
  readonly launcher: Launcher;
  readonly endpoint: string;
  /** A cgroup for the daemon's `--cgroup-root`. */
  readonly cgroupRoot: string;
  readonly image: string;
  leftovers(): readonly string[] | Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** A daemon with its folders. Several of them may use one runtime, one after another. */
export class CriDaemonBed<Runtime extends RuntimeBed = ContainerdBed> extends DaemonBed {
  readonly containerd: Runtime;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
  #client: RuntimeService | undefined;
  readonly #configFile: string;
  #fields: Readonly<Record<string, unknown>>;

  constructor(containerd: Runtime, { config = {}, logsAmongPods = false }: CriDaemonOptions = {}) {
    super(containerd.launcher);
    this.#configFile = join(this.dir, 'kubelet.json');
    this.podLogsDir = logsAmongPods ? join(this.rootDir, 'pods') : join(this.dir, 'log', 'pods');
    this.containerLogsDir = join(dirname(this.podLogsDir), 'containers');
    this.containerd = containerd;
    makeCgroup(containerd.cgroupRoot);
    const identity = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
    // A full disk of this machine must not lead to the removal of images.
    const own = { podLogsDir: this.podLogsDir, cgroupRoot: containerd.cgroupRoot, evictionHard: {} };
    this.#fields = { ...identity, ...own, ...config };
    this.configure({});
  }

  /** Changes fields of the configuration, for the daemons that start from now on. */
  configure(fields: Readonly<Record<string, unknown>>): void {
    this.#fields = { ...this.#fields, ...fields };
    writeFileSync(this.#configFile, JSON.stringify(this.#fields));
  }

  /** The test's own client of the runtime. */
  get runtime(): RuntimeService {
    const { endpoint } = this.containerd;
    return (this.#client ??= createCriRuntime(testContext({ clock: systemClock }), {
      endpoint,
      requestTimeoutMs: PATIENCE_MS,
    }));
  }

  protected override get runtimeFlags(): readonly string[] {
    return ['--container-runtime-endpoint', this.containerd.endpoint, '--config', this.#configFile];
  }

  override podLogs({ namespace, name, uid }: Pod['metadata']): string {
    return join(this.podLogsDir, `${namespace}_${name}_${uid}`);
  }

  /** A container that runs a shell script in the test's image. */
  shell(script: string, fields: Partial<Container> = {}): Container {
    return { name: 'main', image: this.containerd.image, command: ['sh', '-c', script], ...fields };
  }

  /** A container that runs until SIGTERM. */
  server(fields: Partial<Container> = {}): Container {
    return { name: 'main', image: this.containerd.image, command: SERVE, ...fields };
  }

  /** Writes or replaces the manifest of that name. Default: a pod on the node's network. */
  apply(name: string, spec: Partial<Pod['spec']>, metadata: Partial<Pod['metadata']> = {}): void {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, ...metadata },
      spec: { hostNetwork: true, terminationGracePeriodSeconds: 5, ...spec },
    };
    // Written as a dotfile first: the daemon ignores those, and so never reads half a manifest.
    const draft = join(this.manifestDir, '.draft');
    writeFileSync(draft, JSON.stringify(pod));
    renameSync(draft, join(this.manifestDir, `${name}.json`));
  }

  withdraw(name: string): void {
    rmSync(join(this.manifestDir, `${name}.json`));
  }

  /** The runtime's id of a container. */
  idOf(pod: Pod, container = 'main'): string {
    const id = containerStatus(pod, container)?.containerID ?? '';
    const [, bare] = /^[a-z-]+:\/\/(.+)$/.exec(id) ?? [];
    if (bare === undefined) throw new Error(`${container} has no container: "${id}"`);
    return bare;
  }

  /** Runs a command in a container and resolves to its output. */
  async exec(pod: Pod, command: readonly string[], container = 'main'): Promise<string> {
    return this.#exec(this.idOf(pod, container), command, [0]);
  }

  /** Runs a command upon which the main container ends. With its first process the kernel kills all others: the command may be killed too. */
  async execLast(pod: Pod, command: readonly string[]): Promise<void> {
    await this.#exec(this.idOf(pod), command, [0, EXIT_CODE_OF_SIGKILL]);
  }

  async #exec(id: string, command: readonly string[], wanted: readonly number[]): Promise<string> {
    // Not with ctr, which sometimes ends before it has passed the output on.
    const { stdout, stderr, exitCode } = await this.runtime.execSync(id, command, PATIENCE_MS / 1000);
    if (!wanted.includes(exitCode))
      throw new Error(`${command.join(' ')} ended with ${exitCode}: ${String(stderr)}`);
    return stdout.toString('utf8');
  }

  override async cleanUp(): Promise<void> {
    try {
      await super.cleanUp();
    } finally {
      await this.#client?.close();
    }
  }

  /** Cleans up and stops the containerd, too. */
  async tearDown(): Promise<void> {
    await this.cleanUp();
    await this.containerd.stop();
  }

  override async leftBehind(): Promise<readonly string[]> {
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    return [
      ...(await this.containerd.leftovers()),
      ...[this.podLogsDir, this.containerLogsDir, join(this.rootDir, 'pods')].flatMap(namesIn),
      ...mounts.filter((line) => line.includes(`${this.rootDir}/`)),
      ...cgroupsOfPods(this.containerd.cgroupRoot),
    ];
  }
}

const CGROUPS = '/sys/fs/cgroup';
const EXIT_CODE_OF_SIGKILL = 137;

export async function startCriBed(options: CriDaemonOptions = {}): Promise<CriDaemonBed> {
  return new CriDaemonBed(await startContainerd(), options);
}

/** The cgroups of pods below the QoS classes, in the memory hierarchy of v1 or in that of v2. */
function cgroupsOfPods(cgroupRoot: string): string[] {
  const drivers = ['cgroupfs', 'systemd'] as const;
  return drivers.flatMap((driver) =>
    Object.values(qosCgroups('/', driver).byClass)
      .flatMap((group) => [join(CGROUPS, 'memory'), CGROUPS].map((top) => join(top, cgroupRoot, group)))
      .flatMap(namesIn)
      .filter((name) => uidOfPodCgroup(name, driver) !== undefined),
  );
}
