/** Commands with streams in a pod of the embedded runtime. */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import type {
  CommandStreams,
  Streaming,
  StreamSelection,
} from '../../src/agent/runtime/service/streaming-runtime.ts';
import type { ContainerConfig } from '../../src/types/cri.ts';
import { monitorPid, processRuntimeBed, type ProcessRuntimeBed } from './process-runtime.ts';
import { startPod } from './runtime-configs.ts';

export interface StreamBed extends ProcessRuntimeBed {
  start(config: ContainerConfig): ReturnType<typeof startPod>;
  exec(
    containerId: string,
    command: readonly string[] | string,
    more?: Partial<StreamSelection>,
  ): Promise<CommandStreams>;
  attach(containerId: string, more?: Partial<StreamSelection>): Promise<CommandStreams>;
  /** How many file descriptors the monitor has. */
  monitorDescriptors(): Promise<number>;
}

const OUTPUT: StreamSelection = { stdin: false, stdout: true, stderr: true, tty: false };

export function streamBed(): StreamBed {
  const bed = processRuntimeBed();
  const { runtime, rootDir } = bed;
  return {
    ...bed,
    start: (config) => startPod(runtime, join(rootDir, 'pods'), config),
    exec: async (containerId, command, more) => {
      const words = typeof command === 'string' ? ['sh', '-c', command] : command;
      return handed(await streamingOf(runtime).exec({ containerId, command: words, ...OUTPUT, ...more }));
    },
    attach: async (containerId, more) =>
      handed(await streamingOf(runtime).attach({ containerId, ...OUTPUT, ...more })),
    monitorDescriptors: async () => readdirSync(`/proc/${await monitorPid(rootDir)}/fd`).length,
  };
}

export function streamingOf({ streaming }: RuntimeService): NonNullable<RuntimeService['streaming']> {
  if (!streaming) throw new Error('the runtime has no streams');
  return streaming;
}

function handed<T>(streaming: Streaming<T>): T {
  if ('streams' in streaming) return streaming.streams;
  throw new Error('the embedded runtime has no streaming server');
}

/** All of a stream; empty for a stream that was not asked for. */
export async function textOf(stream: Readable | undefined): Promise<string> {
  let text = '';
  stream?.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  if (stream) await once(stream, 'end');
  return text;
}

/** Collects what a stream gives, from now on. */
export function collect(stream: Readable | undefined): { readonly text: string } {
  const collected = { text: '' };
  stream?.on('data', (chunk: Buffer) => (collected.text += chunk.toString('latin1')));
  return collected;
}
