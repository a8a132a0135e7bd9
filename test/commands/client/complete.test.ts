import { Argument, Command, Option } from 'commander';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { completions, type ObjectName } from '../../../src/commands/client/complete.ts';
import { podOnNode } from '../../support/owner-socket.ts';

const PODS = [
  podOnNode('web', 'default', {
    containers: [
      { name: 'main', ports: [{ name: 'http', containerPort: 80 }] },
      { name: 'side', image: 'side:1' },
    ],
    initContainers: [{ name: 'init' }],
  }),
  podOnNode('wax'),
  podOnNode('proxy', 'kube-system'),
];

const NAMES: Partial<Record<string, readonly ObjectName[]>> = {
  nodes: [{ name: 'node-a' }],
  configmaps: [
    { name: 'settings', namespace: 'default' },
    { name: 'other', namespace: 'kube-system' },
  ],
};

function program(): Command {
  const root = new Command('statelet');
  const common = (command: Command) =>
    command.option('--root-dir <DIR>').option('-n, --namespace <NAME>').option('-i, --stdin');
  common(root.command('exec')).option('-c, --container <NAME>').argument('<POD>').argument('[COMMAND...]');
  common(root.command('delete')).argument('[POD...]');
  common(root.command('get')).argument('<TYPE>').argument('[NAME...]');
  common(root.command('port-forward')).argument('<POD>').argument('<PORT...>');
  common(root.command('events')).option('--for <OBJECT>');
  root
    .command('top')
    .addArgument(new Argument('[WHAT]').choices(['pods', 'node']))
    .addOption(new Option('--sort-by <FIGURE>').choices(['cpu', 'memory']));
  const record = root.command('record');
  common(record.command('export')).argument('<POD>');
  root.command('__complete', { hidden: true });
  return root;
}

let asked: (string | undefined)[];
beforeEach(() => {
  asked = [];
});

/** The last word of the line is the one that is completed. */
async function complete(line: string): Promise<string> {
  const found = await completions(program(), line.split(' '), {
    pods: (rootDir) => {
      asked.push(rootDir);
      return Promise.resolve(PODS);
    },
    names: (type, rootDir) => {
      asked.push(rootDir);
      return Promise.resolve(NAMES[type] ?? []);
    },
  });
  return found.map(({ value }) => value).join(' ');
}

describe('the completions', () => {
  test.each([
    ['', 'exec delete get port-forward events top record help'],
    ['e', 'exec events'],
    ['help e', 'exec events'],
    ['nothing ', ''],
    ['top ', 'pods node'],
    ['record ', 'export help'],
    ['get nodes ', 'node-a'],
    ['get no/', 'no/node-a'],
    ['delete cm ', 'settings'],
    ['-n kube-system get cm ', 'other'],
    ['get secrets ', ''],
    ['record export w', 'web-node-a wax-node-a'],
    ['record export --name', '--namespace'],
    ['top pods ', ''],
    ['top --sort-by ', 'cpu memory'],
    ['top --sort-by=m', 'memory'],
    ['top --sort-by = m', 'memory'],
    ['exec --c', '--container'],
    ['exec ', 'web-node-a wax-node-a kube-system/proxy-node-a'],
    ['exec we', 'web-node-a'],
    ['exec -n kube-system ', 'proxy-node-a'],
    ['exec -i ', 'web-node-a wax-node-a kube-system/proxy-node-a'],
    ['exec -n ', 'default kube-system'],
    ['exec web -c ', 'main side init'],
    ['exec web -ic ', 'main side init'],
    ['exec pod/web-node-a --container=s', 'side'],
    ['exec kube-system/proxy -c ', 'main'],
    ['exec -c ', ''],
    ['exec web -- ', ''],
    ['exec web -- -', ''],
    ['get ', 'pods configmaps secrets persistentvolumeclaims nodes'],
    ['get secrets w', ''],
    ['get pod/w', 'pod/web-node-a pod/wax-node-a'],
    ['get po/web-node-a po/w', 'po/wax-node-a'],
    ['get pod w', 'web-node-a wax-node-a'],
    ['get pods -n kube-system ', 'proxy-node-a'],
    ['exec pod/we', 'pod/web-node-a'],
    ['delete web-node-a ', 'wax-node-a kube-system/proxy-node-a'],
    ['port-forward web ', '80'],
    ['events --for ', 'pod/web-node-a pod/wax-node-a kube-system/proxy-node-a'],
    ['exec --root-dir ', ''],
  ])('after "%s": %s', async (line, expected) => {
    expect(await complete(line)).toBe(expected);
  });

  test('the completions of pods come from the daemon of the root folder that was typed', async () => {
    await complete('exec --root-dir /a ');
    await complete('exec --root-dir=/b w');
    await complete('exec ');
    await complete('top ');
    await complete('exec -');
    expect(asked).toEqual(['/a', '/b', undefined]);
  });
});
