/** Tells the service manager that started this process how far it is: sd_notify(3). Node cannot write to a datagram socket, so systemd-notify(1) does. */
import { CommandError, runCommand } from './run-command.ts';
import { errnoCode } from './system-errors.ts';

const TIMEOUT_MS = 30_000;

export interface ServiceManager {
  /** Says that the service is up. Rejects with a sentence that says why it could not be said. */
  ready(): Promise<void>;
}

/**
 * The manager that waits for a word of this process (`Type=notify` of systemd); undefined where none does. Its socket is taken out of `env`:
 * programs that this process starts must not speak for it.
 */
export function takeServiceManager(env: NodeJS.ProcessEnv): ServiceManager | undefined {
  const socket = env.NOTIFY_SOCKET ?? '';
  delete env.NOTIFY_SOCKET;
  if (socket === '') return undefined;
  return {
    ready: async () => {
      try {
        const options = { env: { ...env, NOTIFY_SOCKET: socket }, timeoutMs: TIMEOUT_MS };
        await runCommand('systemd-notify', ['--ready'], options);
      } catch (error) {
        throw new Error(problemOf(error), { cause: error });
      }
    },
  };
}

function problemOf(error: unknown): string {
  if (errnoCode(error) === 'ENOENT') return 'the program systemd-notify is not installed';
  return error instanceof CommandError ? `systemd-notify: ${error.message}` : String(error);
}
