import { closeSync } from 'node:fs';
import type { ContainerInput } from '../streams/container-input.ts';
import { launchInTerminal } from '../streams/pseudo-terminal.ts';
import { launch, type ProcessSpec, withContainerEnds } from './launch.ts';
import { childProcess, type MainProcess, terminalProcess } from './main-process.ts';

export interface MainStreams {
  /** Undefined: an empty input. */
  readonly input: ContainerInput | undefined;
  /** The pipes of stdout and stderr; the one of the terminal alone. */
  readonly outputs: readonly string[];
  readonly tty: boolean;
}

/** Starts the main process of a container with its ends of the pipes. */
export async function startMain(
  spec: ProcessSpec,
  { input, outputs, tty }: MainStreams,
): Promise<MainProcess> {
  return withContainerEnds(outputs, async ([stdout = -1, stderr = stdout]) => {
    const stdin = input?.open();
    try {
      if (tty && stdin !== undefined) return terminalProcess(await launchInTerminal(spec, { stdin, stdout }));
      return childProcess(await launch(spec, [stdin ?? 'ignore', stdout, stderr]));
    } catch (error) {
      input?.close();
      throw error;
    } finally {
      if (stdin !== undefined) closeSync(stdin);
    }
  });
}
