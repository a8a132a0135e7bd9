/** The commands for the pods of a running daemon, by the names and flags that kubectl has for them. */
import { Argument, type Command, Option } from 'commander';
import { endAfterOutput } from '../../system/run-command.ts';
import { print, printError } from '../../system/terminal.ts';
import { endpoint } from '../run-flags.ts';
import { addAll, clientCommand, namespaceFlag, wholeNumber } from './client-flags.ts';
import { COMPLETE, type Shell, SHELLS } from './shells.ts';
import { addObjectCommands } from './object-commands.ts';
import type { EventsFlags } from './events.ts';
import type { ExecFlags } from './exec-in-pod.ts';
import type { PageFlags } from './forwarded-page.ts';
import type { LogsFlags } from './logs.ts';
import type { PortForwardFlags } from './port-forward.ts';
import type { TopFlags } from './top.ts';
import type { WhyFlags } from './why.ts';

export function addClientCommands(root: Command): void {
  addWhy(root);
  addPage(root);
  addTop(root);
  addEvents(root);
  addObjectCommands(root);
  addExec(root);
  addAttach(root);
  addPortForward(root);
  addLogs(root);
  addCompletion(root);
}

function oneNamespaceFlags(): readonly Option[] {
  return [
    new Option('-n, --namespace <NAME>', 'only this namespace'),
    new Option('-A, --all-namespaces', 'all namespaces (default)').conflicts('namespace'),
  ];
}

function addWhy(root: Command): void {
  clientCommand(root, 'why')
    .description('Say what a pod, or the node, does now, what it waits for and until when')
    .addArgument(
      new Argument(
        '[POD]',
        'POD, pod/POD or NAMESPACE/POD; of a static pod the name of the node at the end may be left out; default: node',
      ),
    )
    .addOption(namespaceFlag())
    .addOption(new Option('-o, --output <FORMAT>', 'another format than sentences').choices(['json']))
    .action(async (pod: string | undefined, flags: WhyFlags) => {
      const { why } = await import('./why.ts');
      print(await why(pod, flags));
    });
}

function addPage(root: Command): void {
  clientCommand(root, 'ui')
    .description('Serve the page that shows the node and its pods, and print its address')
    .addOption(
      new Option(
        '--address <HOST:PORT>',
        'where to serve it; only for this machine by default (default: 127.0.0.1, any free port)',
      ).argParser(endpoint(0)),
    )
    .action(async (flags: PageFlags) => {
      const { servePage } = await import('./forwarded-page.ts');
      await servePage(flags, {
        line: (text) => print(`${text}\n`),
        problem: (text) => printError(`statelet: ${text}\n`),
      });
    });
}

function addTop(root: Command): void {
  const what = new Argument('[WHAT]', 'what to measure').choices([
    'pods',
    'pod',
    'po',
    'node',
    'nodes',
    'no',
  ]);
  addAll(clientCommand(root, 'top'), oneNamespaceFlags())
    .description('Show the CPU and memory that pods, or the node, use now')
    .addArgument(what.default('pods'))
    .addArgument(new Argument('[POD]', 'only this pod'))
    .option('-l, --selector <LABELS>', 'only pods with these labels')
    .option('--containers', 'each container of a pod')
    .addOption(new Option('--sort-by <FIGURE>', 'the largest first').choices(['cpu', 'memory']))
    .option('--sum', 'add a line with the sum')
    .option('--no-headers', 'without the heading')
    .action(async (kind: string, pod: string | undefined, flags: TopFlags) => {
      const { topNode, topPods } = await import('./top.ts');
      print(await (kind.startsWith('no') ? topNode(flags) : topPods(pod, flags)));
    });
}

function addEvents(root: Command): void {
  addAll(clientCommand(root, 'events'), oneNamespaceFlags())
    .description('Show the newest events of the pods and the node')
    .option('-w, --watch', 'then print new events as they come')
    .option('--for <OBJECT>', 'only events about this: pod/NAME, NAMESPACE/NAME or node/NAME')
    .option('--types <LIST>', 'only events of these types: Normal, Warning')
    .option('--no-headers', 'without the heading')
    .addOption(new Option('-o, --output <FORMAT>', 'another format than the table').choices(['json', 'yaml']))
    .action(async (flags: EventsFlags) => {
      const { events } = await import('./events.ts');
      await events(flags, print);
    });
}

function podArgument(): Argument {
  return new Argument(
    '<POD>',
    'POD, pod/POD or NAMESPACE/POD; of a static pod the name of the node at the end may be left out',
  );
}

/** How the streams of a command or a container are joined with those of this process. */
function streamFlags(): readonly Option[] {
  return [
    namespaceFlag(),
    new Option(
      '-c, --container <NAME>',
      "the container (default: that of the pod's annotation, or else the first)",
    ),
    new Option('-i, --stdin', 'pass standard input on'),
    new Option('-t, --tty', 'use the terminal of this process'),
    new Option('-q, --quiet', 'only the output of the container'),
  ];
}

function addExec(root: Command): void {
  addAll(clientCommand(root, 'exec'), streamFlags())
    .description('Run a command in a container')
    .usage('[options] POD -- COMMAND [ARGUMENT...]')
    .addArgument(podArgument())
    .addArgument(new Argument('[COMMAND...]', 'the command, after --'))
    .addHelpText('after', EXEC_EXAMPLES)
    .action(async (pod: string, command: readonly string[], flags: ExecFlags) => {
      const { execInPod } = await import('./exec-in-pod.ts');
      // Standard input may still be read: nothing else is left to do.
      await endAfterOutput(await execInPod(pod, command, flags));
    });
}

function addAttach(root: Command): void {
  addAll(clientCommand(root, 'attach'), streamFlags())
    .description('Join the main process of a container: see its output, and write to its input')
    .addArgument(podArgument())
    .addHelpText('after', ATTACH_EXAMPLES)
    .action(async (pod: string, flags: ExecFlags) => {
      const { attachToPod } = await import('./exec-in-pod.ts');
      await endAfterOutput(await attachToPod(pod, flags));
    });
}

function addPortForward(root: Command): void {
  clientCommand(root, 'port-forward')
    .description('Forward ports of this machine to ports of a pod')
    .addArgument(podArgument())
    .addArgument(new Argument('<PORT...>', 'LOCAL:REMOTE, :REMOTE for any local one, or PORT for both'))
    .addOption(namespaceFlag())
    .option('--address <LIST>', 'addresses to listen on, with commas between (default: localhost)')
    .addHelpText('after', PORT_FORWARD_EXAMPLES)
    .action(async (pod: string, ports: readonly string[], flags: PortForwardFlags) => {
      const { portForward } = await import('./port-forward.ts');
      await portForward(pod, ports, flags, {
        line: (text) => print(`${text}\n`),
        problem: (text) => printError(`statelet: ${text}\n`),
      });
    });
}

function addLogs(root: Command): void {
  clientCommand(root, 'logs')
    .description('Print the log of a container of a pod')
    .addArgument(
      new Argument(
        '[POD]',
        'POD, pod/POD or NAMESPACE/POD; of a static pod the name of the node at the end may be left out',
      ),
    )
    .addArgument(new Argument('[CONTAINER]', 'as --container'))
    .addOption(namespaceFlag())
    .option(
      '-l, --selector <LABELS>',
      'of all pods of the namespace with these labels, with --tail 10 by default',
    )
    .option('-c, --container <NAME>', 'the container (default: the first of the pod)')
    .option('--all-containers', 'the logs of all containers of the pod')
    .option('-f, --follow', 'then print new lines as they come, until the container has ended')
    .option('-p, --previous', 'the log of the instance before, if there was one')
    .option('--tail <LINES>', 'only so many lines from the end; -1: all (default: -1)', wholeNumber)
    .option('--since <DURATION>', 'only lines that are no older: 5s, 2m, 3h')
    .option('--since-time <TIME>', 'only lines since that time, in RFC 3339')
    .option('--timestamps', 'put its time before each line')
    .option('--limit-bytes <N>', 'end after so many bytes', wholeNumber)
    .option('--prefix', 'put the names of pod and container before each line')
    .option('--ignore-errors', 'print errors, and go on with the other containers')
    .option('--max-log-requests <N>', 'how many logs may be followed at once (default: 5)', wholeNumber)
    .action(async (pod: string | undefined, container: string | undefined, flags: LogsFlags) => {
      const { logs } = await import('./logs.ts');
      await logs(pod, { ...flags, ...(container !== undefined && { container }) });
    });
}

function addCompletion(root: Command): void {
  root
    .command('completion')
    .description('Print a script that completes commands, flags and the names of pods in a shell')
    .addArgument(new Argument('<SHELL>', 'the shell').choices(SHELLS))
    .addHelpText('after', COMPLETION_EXAMPLES)
    .action(async (shell: Shell) => {
      const { completionScript } = await import('./completion.ts');
      print(completionScript(shell));
    });
  root
    .command(COMPLETE, { hidden: true })
    .argument('[WORDS...]')
    .helpOption(false)
    .action(async (words: readonly string[]) => {
      const { completionLines } = await import('./completion.ts');
      print(await completionLines(root, words));
    });
}

const COMPLETION_EXAMPLES = `
Examples:
  source <(statelet completion bash)
  statelet completion fish > ~/.config/fish/completions/statelet.fish`;

const EXEC_EXAMPLES = `
Examples:
  statelet exec web -- ls -l /
  statelet exec -it web -c shell -- sh
  tar c src | statelet exec -i web -- tar x -C /tmp

The exit code is that of the command.`;

const ATTACH_EXAMPLES = `
Examples:
  statelet attach web
  statelet attach -it web -c shell

Ctrl-C ends the command; the container goes on. With a terminal (-it), Ctrl-C goes to the container.`;

const PORT_FORWARD_EXAMPLES = `
Examples:
  statelet port-forward web 8080:80
  statelet port-forward web 5000 6000:http
  statelet port-forward web :80 --address 0.0.0.0`;
