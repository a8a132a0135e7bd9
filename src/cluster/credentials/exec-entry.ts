/** A program that prints credentials, as a kubeconfig describes it. */
import { resolve } from 'node:path';
import { StateletError } from '../../types/errors.ts';
import { type Fields, fieldsOf, flagOf, textOf, textsOf } from './kubeconfig-fields.ts';

export interface ExecEntry {
  /** Of the credentials that the program prints. */
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** For people who do not have the program. */
  readonly installHint: string | undefined;
  readonly provideClusterInfo: boolean;
  /** The field, for messages. */
  readonly field: string;
}

const VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];

export function execEntry(user: Fields, folder: string): ExecEntry | undefined {
  if (user.values.exec === undefined || user.values.exec === null) return undefined;
  const exec = fieldsOf(user.values.exec, `${user.where}.exec`);
  const apiVersion = textOf(exec, 'apiVersion');
  if (apiVersion === undefined || !VERSIONS.includes(apiVersion)) {
    throw wrong(exec, 'apiVersion', `must be ${VERSIONS.join(' or ')}`);
  }
  const command = textOf(exec, 'command');
  if (command === undefined) throw wrong(exec, 'command', 'is missing');
  if (textOf(exec, 'interactiveMode') === 'Always') {
    throw wrong(exec, 'interactiveMode', 'must not be Always: nobody can type here');
  }
  return {
    apiVersion,
    command: command.includes('/') ? resolve(folder, command) : command,
    args: textsOf(exec, 'args'),
    env: envOf(exec),
    installHint: textOf(exec, 'installHint'),
    provideClusterInfo: flagOf(exec, 'provideClusterInfo') ?? false,
    field: exec.where,
  };
}

function envOf(exec: Fields): Record<string, string> {
  const entries: unknown = exec.values.env ?? [];
  if (!Array.isArray(entries)) throw wrong(exec, 'env', 'must be a list');
  return Object.fromEntries(
    entries.map((entry: unknown, index) => {
      const variable = fieldsOf(entry, `${exec.where}.env[${index}]`);
      const name = textOf(variable, 'name');
      if (name === undefined) throw wrong(variable, 'name', 'is missing');
      return [name, textOf(variable, 'value') ?? ''];
    }),
  );
}

function wrong({ where }: Fields, key: string, problem: string): StateletError {
  return new StateletError('InvalidArgument', `${where}.${key} ${problem}`);
}
