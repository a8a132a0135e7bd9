/** The commands that read the flight recorder. */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../policies/formats/duration.ts';
import { rootDirFlag } from '../run-flags.ts';
import type { TimelineFlags } from './timeline.ts';

export function addRecordCommands(root: Command): void {
  root
    .command('timeline')
    .description(
      'Print the recorded transitions of a pod, or of the node, also when it has gone or the daemon has died',
    )
    .addArgument(
      new Argument(
        '[POD]',
        'POD, pod/POD or NAMESPACE/POD; without the name of the node, too; default: node',
      ),
    )
    .addOption(rootDirFlag())
    .addOption(new Option('-n, --namespace <NAME>', 'the namespace of the pod (default: default)'))
    .addOption(new Option('--since <DURATION>', 'only what is younger, for example 5m').argParser(duration))
    .addOption(new Option('-f, --follow', 'go on with what happens from now on'))
    .addOption(
      new Option('-o, --output <FORMAT>', 'another format than text: a JSON object a line').choices(['json']),
    )
    .showHelpAfterError('"statelet timeline --help" lists its flags.')
    .action(async (pod: string | undefined, flags: TimelineFlags) => {
      const { timeline } = await import('./timeline.ts');
      await timeline(pod, flags, { write: (text) => void process.stdout.write(text) });
    });
}

function duration(value: string): number {
  const durationMs = parseDuration(value);
  if (durationMs !== undefined && durationMs >= 0) return durationMs;
  throw new InvalidArgumentError('It must be a duration such as 1m30s.');
}
