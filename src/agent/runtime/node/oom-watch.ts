import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { oomKills, systemOOMMessage, systemOOMs } from '../../policies/node/system-oom.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';

const PERIOD_MS = 10_000;
/** The longest record of the kernel's log. */
const RECORD_BYTES_MAX = 8_192;

export interface OOMSources {
  /** Microseconds since boot. Default: as the kernel counts them. */
  readonly uptimeUs?: () => number;
  readonly vmstatFile?: string;
  readonly kernelLog?: string;
}

/**
 * Records as events of the node which processes the kernel killed because the machine was out of memory. The kernel's log is read only
 * when the count of kills has grown: it takes tens of milliseconds.
 */
export class OOMWatch {
  readonly #context: AgentContext;
  readonly #sources: OOMSources;
  readonly #timer: Timer;
  #kills: number | undefined;
  #toldUs: number;

  constructor(context: AgentContext, sources: OOMSources = {}) {
    this.#context = context;
    this.#sources = sources;
    this.#timer = new Timer(context.clock);
    const { uptimeUs = () => Number(process.hrtime.bigint() / 1_000n) } = sources;
    this.#toldUs = uptimeUs();
    this.#kills = this.#count();
    // An old kernel, or one without /proc, does not count.
    if (this.#kills !== undefined) this.#arm();
  }

  stop(): void {
    this.#timer.disarm();
  }

  #arm(): void {
    this.#timer.arm(PERIOD_MS, () => {
      this.#arm();
      this.#look();
    });
  }

  #look(): void {
    const kills = this.#count();
    if (kills === this.#kills) return;
    this.#kills = kills;
    const { recorder, logger } = this.#context;
    const { kernelLog = '/dev/kmsg' } = this.#sources;
    try {
      for (const oom of systemOOMs(readKernelLog(kernelLog), this.#toldUs)) {
        recorder.nodeEvent('Warning', 'SystemOOM', systemOOMMessage(oom));
        this.#toldUs = oom.atUs;
      }
    } catch (error) {
      logger.debug({}, `The kernel killed processes; the reason cannot be read: ${errorMessage(error)}`);
    }
  }

  #count(): number | undefined {
    try {
      return oomKills(readFileSync(this.#sources.vmstatFile ?? '/proc/vmstat', 'utf8'));
    } catch {
      return undefined;
    }
  }
}

/** All records that the kernel has kept, one a line. A read gives one record; at the end it would wait for the next one. */
function readKernelLog(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const buffer = Buffer.alloc(RECORD_BYTES_MAX);
  const records: string[] = [];
  try {
    for (let length = read(file, buffer); length > 0; length = read(file, buffer))
      records.push(buffer.toString('utf8', 0, length));
  } finally {
    closeSync(file);
  }
  return records.join('');
}

/** 0 at the end. */
function read(file: number, buffer: Buffer): number {
  for (;;) {
    try {
      return readSync(file, buffer);
    } catch (error) {
      const code = errnoCode(error);
      if (code === 'EAGAIN') return 0;
      // A record was overwritten before it was read: the next read gives the oldest one that is left.
      if (code !== 'EPIPE') throw error;
    }
  }
}
