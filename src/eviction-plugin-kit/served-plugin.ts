/** A plugin at its socket: two services, the registration with the agent and the questions. */
import { join, resolve } from 'node:path';
import { printError } from '../system/terminal.ts';
import { errorMessage, StateletError } from '../types/errors.ts';
import type { EvictionPluginDefinition, EvictionPluginOptions, RunningEvictionPlugin } from './plugin-api.ts';
import { PluginCalls } from './plugin-calls.ts';
import { PluginSocket } from './plugin-socket.ts';

/** Letters and digits at both ends: agents leave out sockets whose names begin with a dot. */
const NAME = /^[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/u;
const QUESTIONS = ['evictPods', 'thresholdMet', 'topEvictionPods'] as const;
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export async function serveDefinition(
  definition: EvictionPluginDefinition,
  { registryDir, user, log = toStandardError, handleSignals = true }: EvictionPluginOptions,
): Promise<RunningEvictionPlugin> {
  check(definition);
  const { name } = definition;
  const logLine = (line: string) => logOrPrint(log, `${new Date().toISOString()} ${name}: ${line}`);
  const calls = new PluginCalls(definition, logLine, user);
  const socket = new PluginSocket({ folder: registryOf(registryDir), name, server: calls, log: logLine });
  calls.endpoint = socket.path;
  let stopped: Promise<void> | undefined;
  const end = async () => {
    try {
      await socket.stop();
    } finally {
      await calls.close();
    }
  };
  const stop = () => (stopped ??= end());
  const letGo = handleSignals ? onSignals(stop) : () => undefined;
  try {
    await socket.start();
  } catch (error) {
    letGo();
    await stop();
    throw error;
  }
  return {
    name,
    socket: socket.path,
    registration: () => calls.registration,
    stop: () => {
      letGo();
      return stop();
    },
  };
}

function check(definition: EvictionPluginDefinition): void {
  const { name } = definition as { readonly name: unknown };
  if (typeof name !== 'string' || !NAME.test(name)) {
    const message = `the name of a plugin has to be 1 to 63 letters, digits, "-", "_" and ".", with a letter or a digit at both ends: it is ${JSON.stringify(name)}`;
    throw new StateletError('InvalidArgument', message);
  }
  const questions = QUESTIONS.filter((question) => definition[question] !== undefined);
  const odd = questions.find((question) => typeof definition[question] !== 'function');
  if (odd !== undefined)
    throw new StateletError('InvalidArgument', `${odd} of plugin ${name} has to be a function`);
  if (questions.length === 0)
    throw new StateletError(
      'InvalidArgument',
      `plugin ${name} answers nothing: it has none of ${QUESTIONS.join(', ')}`,
    );
}

/** Absolute: the agent connects to the path as the plugin gives it. */
function registryOf(registryDir: string | undefined): string {
  if (registryDir !== undefined && registryDir !== '') return resolve(registryDir);
  const root = process.env.STATELET_ROOT_DIR ?? '';
  if (root !== '') return resolve(join(root, 'plugins_registry'));
  throw new StateletError(
    'InvalidArgument',
    'the plugin does not know the folder of the agent: set STATELET_ROOT_DIR to the root folder of the agent, or registryDir',
  );
}

/** A log that fails does not end the plugin. */
function logOrPrint(log: (line: string) => void, line: string): void {
  try {
    log(line);
  } catch (error) {
    toStandardError(`${line} (${errorMessage(error)})`);
  }
}

function toStandardError(line: string): void {
  printError(`${line}\n`);
}

/** A second signal ends the process at once, as without a handler. Returns the function that removes the handlers. */
function onSignals(stop: () => Promise<void>): () => void {
  const end = () => {
    letGo();
    void stop().finally(() => process.exit(0));
  };
  const letGo = () => {
    for (const signal of SIGNALS) process.off(signal, end);
  };
  for (const signal of SIGNALS) process.on(signal, end);
  return letGo;
}
