/** The commands that read the flight recorder. */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../agent/policies/formats/duration.ts';
import { print } from '../../system/terminal.ts';
import { namespaceFlag } from '../client/client-flags.ts';
import { rootDirFlag } from '../run-flags.ts';
import type { ExportFlags } from './export-record.ts';
import type { ReplayFlags } from './replay-record.ts';
import type { TimelineFlags } from './timeline.ts';

export function addRecordCommands(root: Command): void {
  addTimeline(root);
  addReplay(root);
  const record = root.command('record').description('Copy the record to another place');
  addExport(record);
}

function addTimeline(root: Command): void {
  root
    .command('timeline')
    .description(
      'Print the recorded transitions of a pod, or of the node, also when it has gone or the daemon has died',
    )
    .addArgument(
      new Argument(
        '[POD]',
        'POD, pod/POD or NAMESPACE/POD; of a static pod the name of the node at the end may be left out; default: node, or all of --file',
      ),
    )
    .addOption(rootDirFlag())
    .addOption(
      new Option('--file <FILE>', 'read a file of "statelet record export" instead').conflicts('rootDir'),
    )
    .addOption(namespaceFlag())
    .addOption(new Option('--since <DURATION>', 'only what is younger, for example 5m').argParser(duration))
    .addOption(new Option('-f, --follow', 'then print new transitions as they happen'))
    .addOption(
      new Option('-o, --output <FORMAT>', 'another format than text: a JSON object a line').choices(['json']),
    )
    .showHelpAfterError('"statelet timeline --help" lists its flags.')
    .action(async (pod: string | undefined, flags: TimelineFlags) => {
      const { timeline } = await import('./timeline.ts');
      await timeline(pod, flags, { write: print });
    });
}

function addReplay(root: Command): void {
  root
    .command('replay')
    .description(
      'Run the charts of this version through a record, and say where they act differently from what is recorded',
    )
    .addArgument(
      new Argument('FILE', 'a file of "statelet record export", or the folder ROOT/record of a daemon'),
    )
    .addArgument(new Argument('[POD]', 'only that pod (POD or NAMESPACE/POD), or node: only the node'))
    .addOption(namespaceFlag())
    .addOption(
      new Option('-o, --output <FORMAT>', 'another format than text: a JSON object a line').choices(['json']),
    )
    .showHelpAfterError('"statelet replay --help" lists its flags.')
    .addHelpText('after', REPLAY_EXAMPLES)
    .action(async (file: string, pod: string | undefined, flags: ReplayFlags) => {
      const { replayRecord } = await import('./replay-record.ts');
      await replayRecord(file, pod, flags, print);
    });
}

function addExport(record: Command): void {
  record
    .command('export')
    .description('Write what is recorded of a pod, or of the node, to one file, for a bug report')
    .addArgument(new Argument('POD', 'POD, pod/POD or NAMESPACE/POD; node: of the node'))
    .addOption(rootDirFlag())
    .addOption(namespaceFlag())
    .addOption(
      new Option('--since <DURATION>', 'leave out files that end before, for example 24h').argParser(
        duration,
      ),
    )
    .addOption(new Option('-o, --output <FILE>', 'which file (default: NAMESPACE_POD.record)'))
    .showHelpAfterError('"statelet record export --help" lists its flags.')
    .action(async (pod: string, flags: ExportFlags) => {
      const { exportRecord } = await import('./export-record.ts');
      await exportRecord(pod, flags, print);
    });
}

const REPLAY_EXAMPLES = `
Examples:
  statelet replay .statelet/record
  statelet replay default_web.record -o json

Exit codes:
  0  nothing differs
  1  the charts of this version act differently
  2  there is no record to replay`;

function duration(value: string): number {
  const durationMs = parseDuration(value);
  if (durationMs !== undefined && durationMs >= 0) return durationMs;
  throw new InvalidArgumentError('It must be a duration such as 1m30s.');
}
