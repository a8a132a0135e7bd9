/** Credentials of a kubeconfig, read again when one of its files has changed or what a program printed has expired. */
import { stat } from 'node:fs/promises';
import { type Observable, Subject } from 'rxjs';
import { patientCalls, START_DEADLINE_MS } from '../../../system/files/patient-calls.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { ConnectionDetails, Credentials } from '../service/api-server.ts';
import { type LoadedKubeconfig, loadKubeconfig } from './load-kubeconfig.ts';

type Context = Pick<AgentContext, 'clock' | 'logger'>;

/** How often files are looked at while the server accepts what they held. */
const LOOK_EVERY_MS = 10_000;
/** A program is not run again earlier, however many requests the server refuses: it may be slow, or ask another service. */
const PAUSE_MS = 5_000;

interface Loaded {
  readonly kubeconfig: LoadedKubeconfig;
  /** Of its files, in their order. */
  readonly versions: readonly string[];
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

export class KubeconfigCredentials implements Credentials {
  readonly path: string;
  readonly changes: Observable<undefined>;
  readonly #context: Context;
  readonly #read: typeof loadKubeconfig;
  readonly #changes = new Subject<undefined>();
  #loaded: Loaded | undefined;
  #lookedAt = 0;
  #isRefused = false;
  /** When it was loaded last, or could not be. */
  #triedAt = -Infinity;
  /** Why it could not be loaded the last time. */
  #failure: Error | undefined;
  /** Requests that come at the same time wait for the same answer. */
  #pending: Promise<LoadedKubeconfig> | undefined;

  /** `read`: for tests. */
  constructor(context: Context, path: string, read = loadKubeconfig) {
    this.path = path;
    this.#context = context;
    this.#read = read;
    this.changes = this.#changes.asObservable();
  }

  async current(): Promise<ConnectionDetails> {
    return (await this.kubeconfig()).details;
  }

  /** Rejects with `InvalidArgument` or `Unavailable`; the message names the file. */
  async kubeconfig(): Promise<LoadedKubeconfig> {
    if (this.#loaded !== undefined && !this.#isDue(this.#loaded)) return this.#loaded.kubeconfig;
    if (this.#failure !== undefined && this.#isTooEarly()) throw this.#failure;
    this.#pending ??= this.#refreshed().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  refused(): void {
    this.#isRefused = true;
  }

  #isTooEarly(): boolean {
    const sinceTry = this.#context.clock.now() - this.#triedAt;
    return sinceTry >= 0 && sinceTry < PAUSE_MS;
  }

  #isDue(loaded: Loaded): boolean {
    const sinceLook = this.#context.clock.now() - this.#lookedAt;
    return this.#isRefused || this.#hasExpired(loaded) || sinceLook >= LOOK_EVERY_MS || sinceLook < 0;
  }

  #hasExpired({ expiresAt }: Loaded): boolean {
    return this.#context.clock.now() >= expiresAt;
  }

  /** Infinite for what has expired when it is new: the clock of this machine is wrong then, and the server decides. */
  #expiryOf({ expiresAtMs = Infinity }: LoadedKubeconfig): number {
    if (expiresAtMs > this.#context.clock.now()) return expiresAtMs;
    const problem = 'the program of the kubeconfig printed credentials that have expired already';
    this.#context.logger.warn({ kubeconfig: this.path, problem }, 'The clock of this machine may be wrong');
    return Infinity;
  }

  async #refreshed(): Promise<LoadedKubeconfig> {
    const former = this.#loaded;
    if (former === undefined) return this.#load();
    const mustRenew = this.#isRefused && former.kubeconfig.isRenewable;
    const mustChange = this.#hasExpired(former) || (mustRenew && !this.#isTooEarly());
    const versions = await versionsOf(former.kubeconfig.files);
    this.#lookedAt = this.#context.clock.now();
    this.#isRefused = mustRenew && !mustChange;
    if (!mustChange && versions.every((version, index) => version === former.versions[index])) {
      return former.kubeconfig;
    }
    try {
      return await this.#load();
    } catch (error) {
      if (mustChange) {
        this.#isRefused = true;
        throw error;
      }
      this.#failure = undefined;
      // Perhaps files are being replaced at this moment: what was read before goes on being used.
      this.#context.logger.warn(
        { problem: errorMessage(error) },
        'Changed credentials are not used, as they are not valid',
      );
      this.#loaded = { ...former, versions };
      return former.kubeconfig;
    }
  }

  async #load(): Promise<LoadedKubeconfig> {
    // Before reading: a change in between is then seen at the next look.
    const before = new Map<string, string>();
    const files = this.#loaded?.kubeconfig.files ?? [this.path];
    const deadlineMs = this.#loaded === undefined ? START_DEADLINE_MS : undefined;
    (await versionsOf(files, deadlineMs)).forEach((version, index) =>
      before.set(files[index] ?? '', version),
    );
    this.#triedAt = this.#context.clock.now();
    const kubeconfig = await this.#read(this.path, deadlineMs).catch((error: unknown) => {
      this.#failure = error as Error;
      throw error;
    });
    this.#failure = undefined;
    const after = await versionsOf(kubeconfig.files);
    const versions = kubeconfig.files.map((file, index) => before.get(file) ?? after[index] ?? '');
    const former = this.#loaded?.kubeconfig.details;
    this.#loaded = { kubeconfig, versions, expiresAt: this.#expiryOf(kubeconfig) };
    this.#lookedAt = this.#context.clock.now();
    this.#isRefused = false;
    if (former !== undefined && needsOtherConnection(former, kubeconfig.details)) {
      this.#context.logger.info(
        { kubeconfig: this.path },
        'Credentials have changed: connections are made anew',
      );
      this.#changes.next(undefined);
    }
    return kubeconfig;
  }
}

/** Headers are sent with each request; all else belongs to a connection. */
function needsOtherConnection(former: ConnectionDetails, details: ConnectionDetails): boolean {
  const ofConnection = (one: ConnectionDetails) => JSON.stringify({ ...one, headers: undefined });
  return ofConnection(former) !== ofConnection(details);
}

/** A text that differs between versions of a file; empty for a file that cannot be seen. Follows links. */
async function versionsOf(files: readonly string[], deadlineMs?: number): Promise<string[]> {
  return Promise.all(
    files.map(async (file) => {
      try {
        const look = () => stat(file, { bigint: true });
        const { dev, ino, size, mtimeNs, ctimeNs } = await patientCalls.call(file, look, deadlineMs);
        return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
      } catch {
        return '';
      }
    }),
  );
}
