import { expect, test } from '@jest/globals';
import { Command } from 'commander';
import { completionLines } from '../../../src/commands/client/completion.ts';
import { ownerSocket, podOnNode } from '../../support/owner-socket.ts';
import { waitFor } from '../../support/wait-for.ts';

function program(): Command {
  const root = new Command('statelet');
  root.command('get').option('--root-dir <DIR>').argument('<TYPE>').argument('[POD...]');
  return root;
}

test('names of pods come from the daemon, each with its meaning', async () => {
  const socket = await ownerSocket([], [podOnNode('web')]);
  try {
    const words = ['get', '--root-dir', socket.rootDir, 'pods', ''];
    // The program gives up after a second: on a busy machine it is asked again.
    const lines = async () => (await completionLines(program(), words)) || undefined;
    expect(await waitFor(lines, { what: 'the names' })).toBe('web-node-a\t\n');
  } finally {
    await socket.close();
  }
});

test.each([
  ['none answers', []],
  ['the one that is there does not answer', [{ path: '/healthz', handle: () => undefined }]],
])('where %s, nothing is offered, without an error', async (_, routes) => {
  const socket = await ownerSocket(routes, [podOnNode('web')]);
  if (routes.length === 0) await socket.close();
  try {
    expect(await completionLines(program(), ['get', '--root-dir', socket.rootDir, 'pods', ''])).toBe('');
  } finally {
    if (routes.length > 0) await socket.close();
  }
});
