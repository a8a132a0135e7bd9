/** What the commands for the pods of a running daemon have in common: their flags. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { rootDirFlag } from '../run-flags.ts';

export function clientCommand(root: Command, name: string): Command {
  return root
    .command(name)
    .addOption(rootDirFlag())
    .showHelpAfterError(`"statelet ${name} --help" lists its flags.`);
}

export function namespaceFlag(): Option {
  return new Option('-n, --namespace <NAME>', 'the namespace of the pod (default: default)');
}

export function addAll(command: Command, options: readonly Option[]): Command {
  for (const option of options) command.addOption(option);
  return command;
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (/^(?:-1|\d+)$/u.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('It must be a whole number, or -1.');
}
