import { expect, test } from '@jest/globals';
import { welcome, type WelcomeFacts } from '../../../src/agent/server/welcome.ts';

const FACTS: WelcomeFacts = {
  sources: ['/home/me/statelet/examples/pods'],
  rootDir: '/home/me/statelet/.statelet',
  isFound: true,
  podLogsDir: '/home/me/statelet/.statelet/pods',
  exitWithPods: true,
};
const SHELL = { cwd: '/home/me/statelet', isNpm: true };

test('says what runs, how to see it, where its logs are and how to stop it; paths below the current folder are relative', () => {
  expect(welcome(FACTS, SHELL)).toBe(`Statelet runs each pod of examples/pods as a statechart
see them:   npx statelet pods   (in another terminal)
their logs: .statelet/pods
to stop:    Ctrl-C, which ends the pods first`);
});

test('names the page where it is served', () => {
  const lines = welcome({ ...FACTS, page: 'http://127.0.0.1:10246/' }, SHELL).split('\n');
  expect(lines[1]).toBe('their page: http://127.0.0.1:10246/   (in a browser)');
});

test('other paths and URLs stay whole; it says when the pods keep running', () => {
  const sources = ['/etc/manifests', 'https://example.com/pods.yaml'];
  const facts = {
    sources,
    rootDir: '/var/lib/other',
    isFound: false,
    podLogsDir: '/var/log/pods',
    exitWithPods: false,
  };
  expect(welcome(facts, { cwd: '/etc', isNpm: false }))
    .toBe(`Statelet runs each pod of manifests and https://example.com/pods.yaml as a statechart
see them:   statelet pods --root-dir /var/lib/other   (in another terminal)
their logs: /var/log/pods
to stop:    Ctrl-C; the pods keep running`);
});

test('the current folder itself is shown as a whole', () => {
  expect(welcome({ ...FACTS, rootDir: SHELL.cwd, isFound: false }, SHELL)).toContain(
    `--root-dir ${SHELL.cwd} `,
  );
});
