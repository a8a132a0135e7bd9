/** The commands for objects that kubectl's users know: `get`, `describe`, `apply` and `delete`. */
import { Argument, type Command, Option } from 'commander';
import { print, printError } from '../../system/terminal.ts';
import { addAll, clientCommand, namespaceFlag, wholeNumber } from './client-flags.ts';
import type { ApplyFlags } from './apply.ts';
import type { DeleteFlags } from './delete.ts';
import type { DescribeFlags } from './describe.ts';
import { FORMATS, type GetFlags, outputFormat } from './get-output.ts';

export function addObjectCommands(root: Command): void {
  addGet(root);
  addDescribe(root);
  addApply(root);
  addDelete(root);
}

function typeArgument(): Argument {
  return new Argument(
    '<TYPE>',
    'pods (pod, po), configmaps (cm), secrets, persistentvolumeclaims (pvc), nodes (no); or TYPE/NAME',
  );
}

function namesArgument(): Argument {
  return new Argument('[NAME...]', 'only these; pods without the name of the node, too');
}

function addGet(root: Command): void {
  addAll(clientCommand(root, 'get'), [namespaceFlag()])
    .description('Show pods, what they refer to, or the node, in the columns of kubectl')
    .addArgument(typeArgument())
    .addArgument(namesArgument())
    .addOption(new Option('-A, --all-namespaces', 'of all namespaces').conflicts('namespace'))
    .option('-l, --selector <LABELS>', 'only those with these labels: app=web,tier!=db')
    .addOption(
      completed(
        new Option(
          '-o, --output <FORMAT>',
          `another format than the table: ${FORMATS.join(', ')}, as jsonpath={.items[*].metadata.name}`,
        ).argParser(outputFormat),
        FORMATS,
      ),
    )
    .option('--sort-by <PATH>', 'in the order of this field: .metadata.creationTimestamp')
    .option('--field-selector <FIELDS>', 'only pods with these fields: status.phase=Running')
    .option('-w, --watch', 'go on with the changes that come')
    .option('--watch-only', 'only the changes that come')
    .option('--show-labels', 'a column with the labels')
    .addOption(
      new Option(
        '-L, --label-columns <KEYS>',
        'a column for each of these labels: app,tier; may be repeated',
      ).argParser(moreKeys),
    )
    .option('--no-headers', 'without the heading')
    .option('--ignore-not-found', 'one that is not there is no error')
    .addHelpText('after', GET_EXAMPLES)
    .action(async (type: string, names: readonly string[], flags: GetFlags) => {
      const { get } = await import('./get.ts');
      await get([type, ...names], flags, { write: print, tell: (line) => printError(`${line}\n`) });
    });
}

function moreKeys(keys: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...keys.split(',')];
}

/** An option with a parser of its own, whose words a shell offers. */
function completed(option: Option, words: readonly string[]): Option {
  option.argChoices = [...words];
  return option;
}

function addDelete(root: Command): void {
  addAll(clientCommand(root, 'delete'), [...filesFlags('the pods of these manifests'), namespaceFlag()])
    .description(
      'End pods that come from manifests, and remove the manifests that apply has written. The others stay ended until their manifests change',
    )
    .addArgument(
      new Argument(
        '[POD...]',
        'POD, pod POD, pod/POD or NAMESPACE/POD; of a static pod the name of the node at the end may be left out; also cm NAME, secret NAME, pvc NAME',
      ),
    )
    .option('--all', 'all pods of the namespace')
    .option('-l, --selector <LABELS>', 'the pods of the namespace with these labels')
    .option(
      '--grace-period <SECONDS>',
      'time for the containers to end; -1: that of the pod (default: -1)',
      wholeNumber,
    )
    .addOption(new Option('--now', 'end the containers within a second').conflicts('gracePeriod'))
    .option('--force', 'has no effect; taken since kubectl has it')
    .option('--wait', 'wait until the containers have ended (default)')
    .option('--no-wait', 'do not wait')
    .option('--timeout <DURATION>', 'how long to wait: 30s, 2m; 0 is without limit (default: 0)')
    .option('--ignore-not-found', 'a pod that is not there is no error')
    .addOption(new Option('-o, --output <FORMAT>', 'only the names').choices(['name']))
    .addHelpText('after', DELETE_EXAMPLES)
    .action(async (names: readonly string[], flags: DeleteFlags) => {
      const { deletePods } = await import('./delete.ts');
      await deletePods(names, flags, print);
    });
}

function addDescribe(root: Command): void {
  addAll(clientCommand(root, 'describe'), [namespaceFlag()])
    .description(
      'Show pods, what they refer to, or the node in detail, with events, and what a pod or the node does now',
    )
    .addArgument(typeArgument())
    .addArgument(namesArgument())
    .addOption(new Option('-A, --all-namespaces', 'of all namespaces').conflicts('namespace'))
    .option('-l, --selector <LABELS>', 'only those with these labels: app=web,tier!=db')
    .option('--show-events', 'with their events (default)')
    .option('--no-show-events', 'without their events')
    .action(async (type: string, names: readonly string[], flags: DescribeFlags) => {
      const { describe } = await import('./describe.ts');
      print(await describe([type, ...names], flags, (line) => printError(`${line}\n`)));
    });
}

function filesFlags(what: string): readonly Option[] {
  const all = (value: string, before: readonly string[] = []) => [...before, value];
  return [
    new Option(
      '-f, --filename <FILE>',
      `${what}: a file, a folder, a URL, or - for standard input; may be repeated`,
    ).argParser(all),
    new Option('-R, --recursive', 'folders in the folder, too'),
  ];
}

function addApply(root: Command): void {
  addAll(clientCommand(root, 'apply'), [...filesFlags('the manifests'), namespaceFlag()])
    .description('Write manifests into the folder of --pods from which the daemon takes its pods')
    .addOption(
      new Option('--dry-run [MODE]', 'check them, and say what would be done').choices([
        'none',
        'client',
        'server',
      ]),
    )
    .addOption(new Option('-o, --output <FORMAT>', 'only the names').choices(['name']))
    .addHelpText('after', APPLY_EXAMPLES)
    .action(async (flags: ApplyFlags) => {
      const { apply } = await import('./apply.ts');
      await apply(flags, print);
    });
}

const APPLY_EXAMPLES = `
Examples:
  statelet apply -f web.yaml
  statelet apply -f pods/ -R
  kubectl get pod web -o yaml | statelet apply -f -

Each object is a file of the folder: pod_NAMESPACE_NAME.yaml. "statelet delete" removes it.`;

const GET_EXAMPLES = `
Examples:
  statelet get pods -A -o wide
  statelet get pod web -o yaml
  statelet get po -l app=web -w
  statelet get pods -o jsonpath='{range .items[*]}{.metadata.name}{"\\n"}{end}'
  statelet get pods -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image`;

const DELETE_EXAMPLES = `
Examples:
  statelet delete web
  statelet delete web --grace-period 5 --wait=false
  statelet delete kube-system/proxy

A manifest that apply has not written stays where it is: the pod starts again when it changes, or is moved away and back.`;
