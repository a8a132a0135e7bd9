/** The command line: names, flags and help. What a command does is loaded when it is called. */
import { styleText } from 'node:util';
import { Argument, Command, CommanderError, Option } from 'commander';
import type { RunFlags } from '../config/config.ts';
import { errorMessage, StateletError } from '../types/errors.ts';
import type { ChartFormat } from './charts.ts';
import type { ExplainEvictionFlags } from './explain-eviction.ts';
import type { PodsFlags } from './pods.ts';
import type { SimulateFlags } from './simulate.ts';
import { addEvictionFlags, addRunFlags, addRunOnceFlags, rootDirFlag } from './run-flags.ts';
import type { RunOnceFlags } from './run-once-command.ts';
import { FAULTS } from '../simulation/plan/fault-kinds.ts';
import { ownVersion } from '../version.ts';

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** Carries out what `argv` says and resolves with the exit code. */
export async function runProgram(argv: readonly string[]): Promise<number> {
  // A reader that has seen enough (`| head`) is no failure.
  process.stdout.on('error', () => process.exit(0));
  // A terminal that was closed.
  process.stderr.on('error', () => undefined);
  try {
    await program().parseAsync(argv);
    return 0;
  } catch (error) {
    return exitCode(error);
  }
}

/** Commander has printed its own errors by then. */
function exitCode(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  // Anything that is not a StateletError is a defect: where it is helps.
  const text =
    error instanceof StateletError || !(error instanceof Error) ? errorMessage(error) : error.stack;
  process.stderr.write(`statelet: ${text ?? errorMessage(error)}\n`);
  return error instanceof StateletError && error.kind === 'InvalidArgument' ? EXIT_USAGE : EXIT_FAILURE;
}

function program(): Command {
  const root = new Command('statelet')
    .description('A Kubernetes node agent in which every pod is a statechart')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [COMMAND]', 'show the help of a command')
    .exitOverride()
    .configureHelp({ styleTitle: (title) => styleText('bold', title) })
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /u, 'statelet: ')) })
    .addHelpText('after', HELP_TAIL);
  addRun(root);
  addRunOnce(root);
  addPods(root);
  addExplainEviction(root);
  addCharts(root);
  addSimulate(root);
  return root;
}

function version(): string {
  return `statelet ${ownVersion()}`;
}

function addRun(root: Command): void {
  addRunFlags(root.command('run'))
    .description('Run the daemon: learn which pods belong here, run them, keep them as their spec says')
    .showHelpAfterError('"statelet run --help" lists what it takes.')
    .addHelpText('after', RUN_EXAMPLES)
    .action(async (flags: RunFlags) => {
      const { run } = await import('./run.ts');
      await run(flags);
    });
}

function addRunOnce(root: Command): void {
  addRunOnceFlags(root.command('run-once'))
    .description('Start the pods that belong here, tell what came of each, and leave them running')
    .addOption(
      new Option('-o, --output <FORMAT>', 'one document instead of lines and table').choices(['json']),
    )
    .showHelpAfterError('"statelet run-once --help" lists what it takes.')
    .addHelpText('after', RUN_ONCE_EXAMPLES)
    .action(async (flags: RunOnceFlags) => {
      const { runOnce } = await import('./run-once-command.ts');
      // Everything has been closed: whatever still holds the event loop must not hold the process.
      process.exit(await runOnce(flags));
    });
}

function addPods(root: Command): void {
  root
    .command('pods')
    .description('Show the pods of a running daemon, each with the state of its chart')
    .addOption(rootDirFlag())
    .option(
      '--server <URL>',
      'where it serves /pods, secrets left out (default: the socket in its root folder)',
    )
    .addOption(
      new Option('-o, --output <FORMAT>', 'another form than the table').choices(['json', 'yaml', 'wide']),
    )
    .showHelpAfterError('"statelet pods --help" lists what it takes.')
    .addHelpText('after', PODS_EXAMPLES)
    .action(async (flags: PodsFlags) => {
      const { pods } = await import('./pods.ts');
      process.stdout.write(await pods(flags));
    });
}

function addExplainEviction(root: Command): void {
  const command = root
    .command('explain-eviction')
    .description('Show which pods of a running daemon would be evicted now, in order, and why')
    .addOption(rootDirFlag())
    .option('--server <URL>', 'where it serves /eviction (default: the socket in its root folder)')
    .addOption(new Option('-o, --output <FORMAT>', 'another form than the tables').choices(['json']))
    .option(
      '--stats <FILE>',
      "figures to go by instead: a Summary, as the kubelet's /stats/summary serves it",
    )
    .option('--pods <FILE>', 'the pods that they are about: a PodList, as kubectl prints it in JSON')
    .showHelpAfterError('"statelet explain-eviction --help" lists what it takes.')
    .action(async (flags: ExplainEvictionFlags) => {
      const { explainEviction } = await import('./explain-eviction.ts');
      process.stdout.write(await explainEviction(flags));
    });
  addEvictionFlags(command);
}

function addCharts(root: Command): void {
  root
    .command('charts')
    .description('Print a statechart of the daemon, or the list of them')
    .addArgument(new Argument('[NAME]', 'which chart; without it they are listed'))
    .addOption(
      new Option('--format <FORMAT>', 'xstate can be pasted into the Stately editor')
        .choices(['xstate', 'mermaid'])
        .default('xstate'),
    )
    .showHelpAfterError('"statelet charts --help" lists what it takes.')
    .addHelpText('after', CHARTS_EXAMPLES)
    .action(async (name: string | undefined, { format }: { format: ChartFormat }) => {
      const { charts } = await import('./charts.ts');
      process.stdout.write(charts(name, format));
    });
}

function addSimulate(root: Command): void {
  root
    .command('simulate')
    .description(
      'Run whole nodes on a simulated runtime under a virtual clock, and check the invariants at every step',
    )
    .option(
      '--seed <NUMBER>',
      'what is drawn by chance follows from it: the same seed, the same history',
      '1',
    )
    .option('--nodes <NUMBER>', 'how many nodes', '1')
    .option('--pods <NUMBER>', 'how many names of pods there are on each node', '20')
    .option('--hours <NUMBER>', 'simulated time', '1')
    .option('--faults <LIST>', 'what goes wrong: all, none, or some of what is listed below', 'all')
    .option('--only <LIST>', 'carry out only the operations of these numbers')
    .option('--history <FILE>', 'write everything that happens to a file')
    .option('--shrink', 'reduce a history that violates an invariant to what it takes')
    .option('--runs <NUMBER>', 'so many simulations, each with the next seed', '1')
    .addOption(
      new Option(
        '--for <DURATION>',
        'simulations, each with the next seed, until so much time has passed',
      ).conflicts('runs'),
    )
    .showHelpAfterError('"statelet simulate --help" lists what it takes.')
    .addHelpText('after', simulateHelp)
    .action(async (flags: SimulateFlags) => {
      const { simulate } = await import('./simulate.ts');
      await simulate(flags, (text) => process.stdout.write(text));
    });
}

/** The faults are listed without loading the simulation for every command. */
function simulateHelp(): string {
  const faults = Object.entries(FAULTS).map(([name, what]) => `  ${name.padEnd(FAULT_WIDTH)}${what}`);
  return `\nFaults:\n${faults.join('\n')}\n${SIMULATE_EXAMPLES}`;
}

const FAULT_WIDTH = 15;

const HELP_TAIL = `
Examples:
  statelet run --pod-manifest-path examples/pods   run the pods of a folder
  statelet run-once --pod-manifest-path pods       start them, and leave
  statelet pods                                    see how they are
  statelet charts pod --format mermaid             draw the life of a pod
  statelet simulate --seed 7 --hours 24            a day of a node, in seconds

Exit codes:
  0  done, or stopped in good order
  1  failed while running: a port in use, no daemon that answers, a defect
  2  not started: an unknown flag or command, or a configuration that does not hold`;

const RUN_EXAMPLES = `
Examples:
  statelet run --pod-manifest-path examples/pods --exit-with-pods
  statelet run --config kubelet.yaml -v 4
  statelet run --manifest-url https://example.com/pods.yaml --manifest-url-header "Authorization:Bearer abc"
  statelet run --pod-manifest-path examples/pods --inspect

Durations are written as 300ms, 20s or 1m30s. Ctrl-C or SIGTERM stops the daemon; its pods keep running, and
the next start takes them up again, unless --exit-with-pods is given. So does closing its terminal. A second Ctrl-C, or
SIGQUIT, leaves at once.`;

const RUN_ONCE_EXAMPLES = `
Examples:
  statelet run-once --pod-manifest-path examples/pods
  statelet run-once --manifest-url https://example.com/pods.yaml -o json
  statelet run-once --pod-manifest-path pods --max-retries 3 --retry-delay 500ms

Pods that run, or have run to their end, are good. What the agent logs is on stderr.

Exit codes:
  0    all pods are good
  1    a pod is not, a manifest is wrong, no pod came, or a daemon runs in the root folder
  2    not started: an unknown flag, or a configuration that does not hold
  130  left on Ctrl-C (143: on SIGTERM, 129: the terminal was closed); pods that had been started keep running`;

const PODS_EXAMPLES = `
Examples:
  statelet pods --root-dir .statelet
  statelet pods --server 127.0.0.1:10248 -o json`;

const SIMULATE_EXAMPLES = `
Examples:
  statelet simulate --seed 7 --pods 50 --hours 24
  statelet simulate --runs 100 --faults agent,hang     a hundred seeds
  statelet simulate --for 30m --shrink                 for half an hour; what fails is made small

Exit code 1 tells of a violated invariant; what is printed then says how to replay it.`;

const CHARTS_EXAMPLES = `
Examples:
  statelet charts
  statelet charts pod > pod.ts                 then paste it at https://stately.ai/editor
  statelet charts supervisor --format mermaid`;
