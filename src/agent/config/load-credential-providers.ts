/** Reads the files that name credential provider plugins. It imports yaml, so it is loaded only where there are such files. */
import { asOneMessage } from '../policies/formats/go-text.ts';
import { constants } from 'node:fs';
import { createHash } from 'node:crypto';
import { access, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import {
  type CredentialProvider,
  type CredentialProviderConfig,
  decodingProblem,
  providerProblems,
  providersOf,
  repeatedName,
} from '../policies/images/credential-provider-config.ts';
import { withoutNullMembers } from '../policies/images/credential-provider-answer.ts';
import { readProvidedFile } from '../../system/files/foreign-file.ts';
import { callAtStart, START_DEADLINE_MS } from '../../system/files/patient-calls.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';

const CONFIG_FLAG = '--image-credential-provider-config';
const BIN_DIR_FLAG = '--image-credential-provider-bin-dir';

/**
 * The plugins in a file, or in all files of a folder whose names end in .json, .yaml or .yml, in the order of their names. Rejects
 * with `InvalidArgument`, with the kubelet's message.
 */
export async function loadCredentialProviders(
  path: string,
  binDir: string,
): Promise<CredentialProviderConfig> {
  if (path === '')
    throw invalid(CONFIG_FLAG, `credential provider config path is empty; ${BIN_DIR_FLAG} needs it`);
  await checkBinDir(binDir);
  const providers: Partial<CredentialProvider>[] = [];
  const hash = createHash('sha256');
  for (const file of await filesOf(path)) {
    const text = await readConfigFile(file);
    // As with the kubelet: with its length before it, so that what is moved from one file to the next changes the hash.
    hash.update(lengthOf(text)).update(text);
    providers.push(...providersIn(file, text));
  }
  const repeated = repeatedName(providers);
  if (repeated !== undefined) {
    throw invalid(
      CONFIG_FLAG,
      `${path}: duplicate provider name "${repeated}" found in configuration file(s)`,
    );
  }
  const problems = providerProblems(providers);
  if (problems.length > 0) {
    const message = `failed to validate credential provider config: ${asOneMessage(problems)}`;
    throw invalid(CONFIG_FLAG, `${path}: ${message}`);
  }
  for (const { name = '' } of providers) await checkProgram(join(binDir, name));
  return { providers: providers as readonly CredentialProvider[], hash: `sha256:${hash.digest('hex')}` };
}

function invalid(flag: string, problem: string): StateletError {
  return new StateletError('InvalidArgument', `${flag}: ${problem}`);
}

async function checkBinDir(binDir: string): Promise<void> {
  if (binDir === '') throw invalid(BIN_DIR_FLAG, `is missing; ${CONFIG_FLAG} needs it`);
  try {
    if ((await callAtStart(binDir, () => stat(binDir))).isDirectory()) return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw invalid(BIN_DIR_FLAG, `plugin binary directory ${binDir} did not exist`);
    }
    throw invalid(BIN_DIR_FLAG, `error inspecting binary directory ${binDir}: ${errorMessage(error)}`);
  }
  throw invalid(BIN_DIR_FLAG, `${binDir} is no directory`);
}

async function filesOf(path: string): Promise<readonly string[]> {
  const info = await callAtStart(path, () => stat(path)).catch((error: unknown) => {
    throw invalid(CONFIG_FLAG, `unable to access path "${path}": ${errorMessage(error)}`);
  });
  if (!info.isDirectory()) return [path];
  const listed = callAtStart(path, () => readdir(path, { withFileTypes: true }));
  const entries = await listed.catch((error: unknown) => {
    throw invalid(CONFIG_FLAG, `unable to read directory "${path}": ${errorMessage(error)}`);
  });
  const files = entries.filter((entry) => !entry.isDirectory() && /\.(json|ya?ml)$/u.test(entry.name));
  if (files.length === 0) throw invalid(CONFIG_FLAG, `no configuration files found in directory "${path}"`);
  return files.map(({ name }) => join(path, name)).sort();
}

function readConfigFile(file: string): Promise<string> {
  return readProvidedFile(file, { deadlineMs: START_DEADLINE_MS }).catch((error: unknown) => {
    throw invalid(CONFIG_FLAG, `unable to read file "${file}": ${errorMessage(error)}`);
  });
}

function lengthOf(text: string): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(Buffer.byteLength(text)));
  return length;
}

function providersIn(file: string, text: string): readonly Partial<CredentialProvider>[] {
  const decoding = (problem: string) => invalid(CONFIG_FLAG, `error decoding config "${file}": ${problem}`);
  let content: unknown;
  try {
    content = withoutNullMembers(parse(text, { version: '1.1' }));
  } catch (error) {
    // Arguments and variables of a plugin may be secrets: only the first line, without the quoted part of the file.
    throw decoding(`is neither YAML nor JSON: ${errorMessage(error).split('\n', 1)[0] ?? ''}`);
  }
  const problem = decodingProblem(content);
  if (problem !== undefined) throw decoding(problem);
  return providersOf(content);
}

async function checkProgram(path: string): Promise<void> {
  try {
    await callAtStart(path, () => access(path, constants.X_OK));
    if ((await callAtStart(path, () => stat(path))).isFile()) return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw invalid(BIN_DIR_FLAG, `plugin binary executable ${path} did not exist`);
    }
    throw invalid(BIN_DIR_FLAG, `error inspecting binary executable ${path}: ${errorMessage(error)}`);
  }
  throw invalid(BIN_DIR_FLAG, `plugin binary executable ${path} is no file`);
}
