/** Keeps the stream of a page open and reads it, in a process of its own: the cost of a browser is not the agent's. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

const READ = `
  const { get } = require('node:http');
  get(process.argv[1], (response) => response.once('data', () => process.send('open')).resume());
`;

/** Resolves when the first message has come. */
export async function readPage(url: string): Promise<{ close(): Promise<void> }> {
  const reader: ChildProcess = spawn(process.execPath, ['-e', READ, url], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await once(reader, 'message');
  return {
    close: async () => {
      const exited = once(reader, 'exit');
      reader.kill();
      await exited;
    },
  };
}
