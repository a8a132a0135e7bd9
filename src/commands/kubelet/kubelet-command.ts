/** The kubelet's command line: that of `statelet run` and `statelet run-once`, and that of a link named `kubelet`. */
import type { Command } from 'commander';
import { idleFlags } from '../../config/kubelet/idle-flags.ts';
import type { RunFlags } from '../../config/config.ts';
import { print } from '../../system/terminal.ts';
import { addRunFlags } from '../run-flags.ts';
import { kubeletArguments } from './kubelet-arguments.ts';
import { kubeletVersion } from './kubelet-version.ts';

/** Reads the words with the command's flags and the kubelet's, and runs it, or prints what `--version` asks for. */
export async function parseAsKubelet(
  command: Command,
  words: readonly string[],
  isStrict = false,
): Promise<void> {
  const { words: own, idle, version } = kubeletArguments(words, command.options, { isStrict });
  const printed = version === undefined ? undefined : kubeletVersion(version);
  if (printed !== undefined) {
    print(printed);
    return;
  }
  command.setOptionValue('idle', idle);
  await command.parseAsync(own, { from: 'user' });
}

/** Of the link: it has no other commands, and the kubelet's defaults. */
export function kubeletCommand(command: Command): Command {
  return addRunFlags(command, { asKubelet: true })
    .description('Run the daemon in the place of the kubelet: with its command line and its defaults')
    .helpOption('-h, --help', 'show this help')
    .allowExcessArguments(false)
    .addHelpText('after', idleHelp)
    .action(async (flags: RunFlags) => {
      const { run } = await import('../run.ts');
      await run({ ...flags, asKubelet: true });
    });
}

function idleHelp(): string {
  const names = [...idleFlags().keys()].map((name) => `  --${name}`);
  return `\nFlags of the kubelet that have no effect:\n${names.join('\n')}\n\n--version prints the version of Kubernetes.`;
}
