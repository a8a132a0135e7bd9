/** `statelet exec` and `statelet attach`. */
import { finished } from 'node:stream/promises';
import { printable } from '../../agent/policies/formats/terminal-text.ts';
import { bareStreams } from '../../system/terminal.ts';
import { StateletError } from '../../types/errors.ts';
import type { Container, Pod } from '../../types/kubernetes.ts';
import { chosenContainer, chosenPod, type NamespaceFlags } from './chosen-pod.ts';
import { type FolderFlags, withDaemon } from './daemon-connection.ts';
import { type LocalStreams, runRemoteCommand, type Terminal, terminalOf } from './remote-command.ts';
import { pathOf } from './spdy-request.ts';

export interface ExecFlags extends FolderFlags, NamespaceFlags {
  readonly container?: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly quiet?: boolean;
}

/** The streams of the process that runs the command. */
export interface OwnStreams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** Resolves with the exit code of the command, when all its output has been written. */
export async function execInPod(
  name: string,
  command: readonly string[],
  flags: ExecFlags,
  own: OwnStreams = bareStreams,
): Promise<number> {
  if (command.length === 0)
    throw new StateletError('InvalidArgument', 'exec: you must name a command: statelet exec POD -- COMMAND');
  const tell = teller(flags, own);
  return withDaemon(flags, async (daemon) => {
    const pod = await chosenPod(daemon, name, flags);
    const container = chosenContainer(pod, flags.container, tell);
    const { namespace, name: podName } = pod.metadata;
    const streams = localStreams(flags, own, flags.tty === true ? 'wanted' : 'none', tell);
    const code = await runRemoteCommand(
      daemon,
      pathOf('exec', namespace, podName, container),
      command,
      streams,
    );
    if (code !== 0) tell(`command terminated with exit code ${String(code)}`);
    return flushed(code, own);
  });
}

/** Resolves when the container has ended, or has closed its streams. */
export async function attachToPod(
  name: string,
  flags: ExecFlags,
  own: OwnStreams = bareStreams,
): Promise<number> {
  const tell = teller(flags, own);
  return withDaemon(flags, async (daemon) => {
    const pod = await chosenPod(daemon, name, flags);
    const container = chosenContainer(pod, flags.container, tell);
    const { namespace, name: podName } = pod.metadata;
    const streams = localStreams(flags, own, terminalFor(pod, container, flags, tell), tell);
    if (streams.stdin && streams.terminal) tell("If you don't see a command prompt, try pressing enter.");
    const code = await runRemoteCommand(daemon, pathOf('attach', namespace, podName, container), [], streams);
    return flushed(code, own);
  });
}

/** `container`: the container has a terminal of its own, and the user has not asked to use that of this process. */
type TerminalUse = 'none' | 'wanted' | 'container';

function terminalFor(pod: Pod, name: string, { tty }: ExecFlags, tell: (line: string) => void): TerminalUse {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const all = [...containers, ...initContainers, ...(ephemeralContainers as readonly Container[])];
  const hasTerminal = all.find((container) => container.name === name)?.tty === true;
  if (hasTerminal) return tty === true ? 'wanted' : 'container';
  if (tty === true) tell(`error: Unable to use a TTY - container ${name} did not allocate one`);
  return 'none';
}

function localStreams(
  { stdin }: ExecFlags,
  own: OwnStreams,
  use: TerminalUse,
  tell: (line: string) => void,
): LocalStreams {
  const input = stdin === true ? own.stdin : undefined;
  const terminal = input && use !== 'none' ? ownTerminal(own, use, tell) : undefined;
  return {
    stdin: input,
    stdout: own.stdout,
    stderr: own.stderr,
    tty: terminal !== undefined || use === 'container',
    terminal,
  };
}

function ownTerminal(own: OwnStreams, use: TerminalUse, tell: (line: string) => void): Terminal | undefined {
  const terminal = terminalOf(own.stdin, own.stdout);
  if (terminal === undefined && use === 'wanted')
    tell('Unable to use a TTY - input is not a terminal or the right kind of file');
  return terminal;
}

function teller({ quiet }: ExecFlags, { stderr }: OwnStreams): (line: string) => void {
  return (line) => {
    if (quiet !== true) stderr.write(`${printable(line)}\n`);
  };
}

/** A pipe takes what is written to it later: the process must not exit before. */
async function flushed(code: number, { stdout, stderr }: OwnStreams): Promise<number> {
  await Promise.all([stdout, stderr].map((stream) => written(stream)));
  return code;
}

async function written(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.destroyed || !stream.writable) return;
  const done = new Promise((resolve) => stream.write('', resolve));
  await Promise.race([done, finished(stream, { readable: false }).catch(() => undefined)]);
}
