/** The command line: names, flags and help. The code of a command is loaded when it is called. */
import { basename } from 'node:path';
import { styleText } from 'node:util';
import { Argument, Command, CommanderError, Option } from 'commander';
import type { RunFlags } from '../agent/config/config.ts';
import { endAfterOutput, endProcess } from '../system/run-command.ts';
import { onOutputClosed, print, printError, printStyled } from '../system/terminal.ts';
import { errorMessage, StateletError } from '../types/errors.ts';
import type { ChartFormat } from './charts.ts';
import { addClientCommands } from './client/client-commands.ts';
import { refuseCommandOfKubectl, withPlainWords } from './client/kubectl-words.ts';
import type { DemoFlags } from './demo.ts';
import type { DoctorFlags } from './doctor-command.ts';
import type { ExplainEvictionFlags } from './explain-eviction.ts';
import type { HollowFlags } from './hollow-command.ts';
import { kubeletCommand, parseAsKubelet } from './kubelet-command.ts';
import type { PodsFlags } from './pods.ts';
import { addRecordCommands } from './record/record-commands.ts';
import type { SimulateFlags } from './simulate.ts';
import { addEvictionFlags, addRunFlags, addRunOnceFlags, addServerFlags, rootDirFlag } from './run-flags.ts';
import type { RunOnceFlags } from './run-once-command.ts';
import { FAULTS } from '../simulation/plan/fault-kinds.ts';
import { ownVersion } from '../version.ts';

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** Runs the command in `argv`, and ends the process with its exit code when nothing is left to do. */
export async function startProgram(argv: readonly string[]): Promise<void> {
  process.exitCode = await runProgram(argv);
  process.once('beforeExit', endProcess);
}

/** Runs the command in `argv` and resolves with the exit code. Under the name `kubelet` the program takes the kubelet's command line. */
async function runProgram(argv: readonly string[]): Promise<number> {
  // A reader that closes the pipe (`| head`) is no failure.
  onOutputClosed(() => endProcess(0));
  const name = basename(argv[1] ?? '') === 'kubelet' ? 'kubelet' : 'statelet';
  try {
    await (name === 'kubelet' ? runAsKubelet(argv) : runCommand(argv));
    return 0;
  } catch (error) {
    return exitCode(error, name);
  }
}

async function runAsKubelet([, , ...words]: readonly string[]): Promise<void> {
  await parseAsKubelet(kubeletCommand(withOutput(new Command('kubelet'))), words, true);
}

/** Commands that take the kubelet's flags in the kubelet's notation. */
const WITH_KUBELET_FLAGS = ['run', 'run-once', 'doctor'];

async function runCommand(argv: readonly string[]): Promise<void> {
  const [, , name = '', ...words] = argv;
  const root = program();
  refuseCommandOfKubectl(name);
  const command = root.commands.find((one) => one.name() === name && WITH_KUBELET_FLAGS.includes(name));
  if (command === undefined) await root.parseAsync(withPlainWords(argv));
  else await parseAsKubelet(command, words);
}

/** Commander has already printed its own errors. */
function exitCode(error: unknown, name: string): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  // An error that is not a StateletError is a defect: its stack says where.
  const text =
    error instanceof StateletError || !(error instanceof Error) ? errorMessage(error) : error.stack;
  printError(`${name}: ${text ?? errorMessage(error)}\n`);
  return error instanceof StateletError && error.kind === 'InvalidArgument' ? EXIT_USAGE : EXIT_FAILURE;
}

function program(): Command {
  const root = withOutput(new Command('statelet'))
    .description('A Kubernetes node agent in which every pod is a statechart')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [COMMAND]', 'show the help of a command')
    .addHelpText('after', HELP_TAIL);
  addRun(root);
  addRunOnce(root);
  addDemo(root);
  addDoctor(root);
  addPods(root);
  addClientCommands(root);
  addRecordCommands(root);
  addExplainEviction(root);
  addCharts(root);
  addSimulate(root);
  addHollow(root);
  return root;
}

/** Commander's output is cleaned like all other output, and its errors begin with the name of the command. */
function withOutput(command: Command): Command {
  return command
    .exitOverride()
    .configureHelp({ styleTitle: (title) => styleText('bold', title) })
    .configureOutput({
      writeOut: printStyled,
      writeErr: printError,
      outputError: (text, write) => write(text.replace(/^error: /u, `${command.name()}: `)),
    });
}

function version(): string {
  return `statelet ${ownVersion()}`;
}

function addRun(root: Command): void {
  addRunFlags(root.command('run'))
    .description(
      'Run the daemon: read the pods of this node from manifests, run them, and keep them as their specs say',
    )
    .showHelpAfterError('"statelet run --help" lists its flags.')
    .addHelpText('after', RUN_EXAMPLES)
    .action(async (flags: RunFlags) => {
      const { run } = await import('./run.ts');
      await run(flags);
    });
}

function addRunOnce(root: Command): void {
  addRunOnceFlags(root.command('run-once'))
    .description('Start the pods of this node, report the result of each, and leave them running')
    .addOption(
      new Option('-o, --output <FORMAT>', 'one JSON document instead of lines and a table').choices(['json']),
    )
    .showHelpAfterError('"statelet run-once --help" lists its flags.')
    .addHelpText('after', RUN_ONCE_EXAMPLES)
    .action(async (flags: RunOnceFlags) => {
      const { runOnce } = await import('./run-once-command.ts');
      // Everything has been closed. A handle that is left must not keep the process running.
      await endAfterOutput(await runOnce(flags));
    });
}

function addDemo(root: Command): void {
  root
    .command('demo')
    .description('Copy the examples into a folder, and run them with a table and the page')
    .addArgument(new Argument('[FOLDER]', 'for the manifests').default('statelet-demo'))
    .addOption(
      new Option('--root-dir <DIR>', 'where state is kept (default: .statelet in the working folder)'),
    )
    .option('--hostname-override <NAME>', 'the name of the node (default: that of the machine)')
    .showHelpAfterError('"statelet demo --help" lists its flags.')
    .addHelpText('after', DEMO_EXAMPLES)
    .action(async (folder: string, flags: DemoFlags) => {
      const { demo } = await import('./demo.ts');
      await demo(folder, flags);
    });
}

function addDoctor(root: Command): void {
  addRunFlags(root.command('doctor'))
    .description(
      'Check whether the daemon, with these flags, can work on this machine, and say how to mend what is wrong',
    )
    .addOption(new Option('-o, --output <FORMAT>', 'another format than lines').choices(['json']))
    .showHelpAfterError('"statelet doctor --help" lists its flags.')
    .addHelpText('after', DOCTOR_EXAMPLES)
    .action(async (flags: DoctorFlags) => {
      const { doctor } = await import('./doctor-command.ts');
      await endAfterOutput(await doctor(flags));
    });
}

function addPods(root: Command): void {
  root
    .command('pods')
    .description('Show the pods of a running daemon, each with the state of its chart')
    .addOption(rootDirFlag())
    .option(
      '--server <URL>',
      'address of its /pods, without secrets (default: the socket in its root folder)',
    )
    .addOption(
      new Option('-o, --output <FORMAT>', 'another format than the table').choices(['json', 'yaml', 'wide']),
    )
    .showHelpAfterError('"statelet pods --help" lists its flags.')
    .addHelpText('after', PODS_EXAMPLES)
    .action(async (flags: PodsFlags) => {
      const { pods } = await import('./pods.ts');
      print(await pods(flags));
    });
}

function addExplainEviction(root: Command): void {
  const command = root
    .command('explain-eviction')
    .description('Show which pods of a running daemon would be evicted now, in which order, and why')
    .addOption(rootDirFlag())
    .option('--server <URL>', 'address of its /eviction (default: the socket in its root folder)')
    .addOption(new Option('-o, --output <FORMAT>', 'another format than the tables').choices(['json']))
    .option(
      '--stats <FILE>',
      "take figures from a file: a Summary, as the kubelet's /stats/summary serves it",
    )
    .option('--pods <FILE>', 'the pods of these figures: a PodList, as kubectl prints it in JSON')
    .showHelpAfterError('"statelet explain-eviction --help" lists its flags.')
    .action(async (flags: ExplainEvictionFlags) => {
      const { explainEviction } = await import('./explain-eviction.ts');
      print(await explainEviction(flags));
    });
  addEvictionFlags(command);
}

const CHARTS_FILE = 'statelet-charts.html';

interface ChartsFlags {
  readonly format: ChartFormat;
  /** True: a file of the usual name. */
  readonly open?: string | true;
}

function addCharts(root: Command): void {
  root
    .command('charts')
    .description('Print a statechart of the daemon, or the list of them')
    .addArgument(new Argument('[NAME]', 'which chart; without it, all are listed'))
    .addOption(
      new Option('--format <FORMAT>', 'xstate: code for the Stately editor; mermaid: a diagram for Markdown')
        .choices(['xstate', 'mermaid'])
        .default('xstate'),
    )
    .option(
      '--open [FILE]',
      `write all charts to a file of HTML, and open it in a browser (default: ${CHARTS_FILE})`,
    )
    .showHelpAfterError('"statelet charts --help" lists its flags.')
    .addHelpText('after', CHARTS_EXAMPLES)
    .action(async (name: string | undefined, { format, open }: ChartsFlags) => {
      if (open !== undefined) {
        const { openCharts } = await import('./charts/charts-file.ts');
        const path = await openCharts(open === true ? CHARTS_FILE : open, name);
        print(`${path}\n`);
        return;
      }
      const { charts } = await import('./charts.ts');
      print(charts(name, format));
    });
}

function addSimulate(root: Command): void {
  root
    .command('simulate')
    .description(
      'Run whole nodes on a simulated runtime under a virtual clock, and check the invariants at every step',
    )
    .option('--seed <NUMBER>', 'seed of all random draws: the same seed gives the same history', '1')
    .option('--nodes <NUMBER>', 'how many nodes', '1')
    .option('--pods <NUMBER>', 'how many names of pods each node has', '20')
    .option('--hours <NUMBER>', 'simulated time', '1')
    .option('--faults <LIST>', 'which faults happen: all, none, or names from the list below', 'all')
    .option('--drivers <LIST>', 'what nodes may have drivers for: all, none, csi, dra', 'none')
    .option('--only <LIST>', 'run only the operations with these numbers')
    .option('--history <FILE>', 'write everything that happens to this file')
    .option(
      '--shrink',
      'reduce a history that violates an invariant to the operations that are needed for it',
    )
    .option('--runs <NUMBER>', 'how many simulations, each with the next seed', '1')
    .addOption(
      new Option('--for <DURATION>', 'run simulations, each with the next seed, for this time').conflicts(
        'runs',
      ),
    )
    .showHelpAfterError('"statelet simulate --help" lists its flags.')
    .addHelpText('after', simulateHelp)
    .action(async (flags: SimulateFlags) => {
      const { simulate } = await import('./simulate.ts');
      await simulate(flags, print);
    });
}

function addHollow(root: Command): void {
  const command = root
    .command('hollow')
    .description(
      'Join a cluster with many nodes of the real agent on a simulated runtime, and let things happen on them',
    )
    .addArgument(
      new Argument('[ACTION]', 'run the nodes, or do something with those that another terminal runs')
        .choices(['run', 'list', 'kill', 'start', 'restart'])
        .default('run'),
    )
    .argument('[NODE...]', 'which nodes to kill, start or restart; list shows all without')
    .option('--nodes <NUMBER>', 'how many nodes', '10')
    .option('--kubeconfig <FILE>', 'the cluster, with credentials that may act for all nodes')
    .option('--plan <FILE>', 'what the nodes are like, and what happens on them: docs/hollow.md')
    .addOption(rootDirFlag('.statelet-hollow').default('.statelet-hollow'))
    .option('--node-ip <IP>', 'the address of all nodes (default: that of this machine)')
    .option('-v, --v <LEVEL>', 'how much is logged: 0-3 warnings of nodes, 4-5 all that they do', '2')
    .showHelpAfterError('"statelet hollow --help" lists its flags.')
    .addHelpText('after', HOLLOW_EXAMPLES)
    .action(async (action: string, nodes: readonly string[], flags: HollowFlags) => {
      const { hollow } = await import('./hollow-command.ts');
      await hollow(action, nodes, flags);
    });
  addServerFlags(command);
}

/** The faults are listed without loading the simulation for every command. */
function simulateHelp(): string {
  const faults = Object.entries(FAULTS).map(([name, what]) => `  ${name.padEnd(FAULT_WIDTH)}${what}`);
  return `\nFaults:\n${faults.join('\n')}\n${SIMULATE_EXAMPLES}`;
}

const FAULT_WIDTH = 15;

const HELP_TAIL = `
Examples:
  statelet demo                                    look at it with pods of its own
  statelet run --pods examples/pods                run the pods of a folder
  statelet run-once --pod-manifest-path pods       start them, and leave them running
  statelet doctor --config kubelet.yaml            what is wrong with this machine, and what mends it
  statelet pods                                    show their states
  statelet apply -f web.yaml                       run the pods of a manifest
  statelet logs -f web                             follow the log of one
  statelet exec -it web -- sh                      run a shell in it
  statelet charts pod --format mermaid             draw the chart of a pod
  statelet simulate --seed 7 --hours 24            a simulated day of a node

Exit codes:
  0  done, or stopped in good order
  1  failed while running: for example, a port is in use, no daemon answers, or a defect
  2  not started: an unknown flag or command, or a wrong configuration`;

const RUN_EXAMPLES = `
Examples:
  statelet run --pod-manifest-path examples/pods --exit-with-pods
  statelet run --config kubelet.yaml -v 4
  statelet run --manifest-url https://example.com/pods.yaml --manifest-url-header "Authorization:Bearer abc"
  statelet run --pod-manifest-path examples/pods --inspect

Durations are written as 300ms, 20s or 1m30s. Ctrl-C, SIGTERM or closing the terminal stops the daemon. Its pods keep
running, and the next start adopts them; with --exit-with-pods they are ended first. A second Ctrl-C, or SIGQUIT, ends the
daemon at once.`;

const RUN_ONCE_EXAMPLES = `
Examples:
  statelet run-once --pod-manifest-path examples/pods
  statelet run-once --manifest-url https://example.com/pods.yaml -o json
  statelet run-once --pod-manifest-path pods --max-retries 3 --retry-delay 500ms

Pods that run, or have completed, are good. The agent's log is on stderr.

Exit codes:
  0    all pods are good
  1    a pod is not good, a manifest is wrong, there was no pod, or a daemon uses the root folder
  2    not started: an unknown flag, or a wrong configuration
  130  stopped by Ctrl-C (143: by SIGTERM, 129: the terminal was closed); pods that had been started keep running`;

const DEMO_EXAMPLES = `
Examples:
  statelet demo
  statelet get pods -w             in another terminal, in the same folder

It needs neither root nor a container runtime: containers are plain processes. Ctrl-C ends the pods, and then the daemon. The folder of the
manifests, and .statelet, can be removed then.`;

const DOCTOR_EXAMPLES = `
Examples:
  statelet doctor --config /etc/statelet/config.yaml
  statelet doctor --container-runtime-endpoint unix:///run/containerd/containerd.sock -o json

Nothing is changed. Without root not everything can be seen; the lines say what.

Exit codes:
  0  the node can work; there may be warnings
  1  something keeps it from working`;

const PODS_EXAMPLES = `
Examples:
  statelet pods --root-dir .statelet
  statelet pods --server 127.0.0.1:10248 -o json`;

const SIMULATE_EXAMPLES = `
Examples:
  statelet simulate --seed 7 --pods 50 --hours 24
  statelet simulate --runs 100 --faults agent,hang     a hundred seeds
  statelet simulate --for 30m --shrink                 for half an hour; a failure is reduced

Exit code 1: an invariant was violated; the output says how to replay it.`;

const HOLLOW_EXAMPLES = `
Examples:
  statelet hollow --nodes 1000 --kubeconfig admin.kubeconfig
  statelet hollow --nodes 50 --kubeconfig admin.kubeconfig --plan plan.yaml
  statelet hollow kill hollow-17               its power is cut; start brings it back

Ctrl-C stops the nodes. Their Node objects stay in the cluster.`;

const CHARTS_EXAMPLES = `
Examples:
  statelet charts
  statelet charts pod > pod.ts                 then paste it at https://stately.ai/editor
  statelet charts supervisor --format mermaid
  statelet charts --open                       all charts in a browser`;
