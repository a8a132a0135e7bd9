/** `statelet doctor`: looks at the machine, and says what is wrong and what mends it. */
import { styleText } from 'node:util';
import { resolveConfig, type RunFlags, type StateletConfig } from '../agent/config/config.ts';
import { examine } from '../doctor/examine.ts';
import { inOrder, hasErrors } from '../doctor/policies/diagnosis.ts';
import { type Finding, findingsOf, type FindingStatus } from '../doctor/policies/finding.ts';
import { oneLine, padText, textWidth } from '../agent/policies/formats/terminal-text.ts';
import { print, printStyled } from '../system/terminal.ts';
import { errorMessage, StateletError } from '../types/errors.ts';
import { adviceOnSources, configure } from './configure.ts';

export interface DoctorFlags extends RunFlags {
  readonly output?: 'json';
}

/** Resolves with the exit code. */
export async function doctor({ output, ...flags }: DoctorFlags): Promise<number> {
  const { config, findings } = await examinedConfiguration(flags);
  const all = inOrder([...findings, ...(await examine(config))]);
  if (output === 'json') print(reportJson(all));
  else printStyled(reportText(all));
  return hasErrors(all) ? 1 : 0;
}

/** The configuration by which the machine is examined. If it is not valid, that is a finding, and `config` has what can still be used. */
interface ExaminedConfiguration {
  readonly config: StateletConfig;
  readonly findings: readonly Finding[];
}

const { ok, warning, error } = findingsOf('configuration');

const MEND = 'docs/configuration.md has every flag and field';

/** Flags that name a place. If another flag is not valid, these places are still examined. */
const PLACES = ['rootDir', 'containerRuntimeEndpoint', 'kubeconfig', 'bootstrapKubeconfig'];

export async function examinedConfiguration(flags: RunFlags): Promise<ExaminedConfiguration> {
  try {
    const { config, warnings } = await configure(flags);
    const advice = adviceOnSources(config, ['--kubeconfig']);
    const findings = [
      ...warnings.map((text) => warning(text, MEND)),
      ...(advice === undefined
        ? []
        : [warning(advice, 'add staticPodPath to the file, or one of these flags')]),
    ];
    const from = flags.config === undefined ? 'flags and defaults' : `${flags.config}, flags and defaults`;
    return { config, findings: findings.length > 0 ? findings : [ok(`${from} are valid`)] };
  } catch (problem) {
    if (!(problem instanceof StateletError)) throw problem;
    const lines = errorMessage(problem).split('\n');
    return { config: placesOnly(flags), findings: lines.map((line) => error(line, MEND)) };
  }
}

function placesOnly(flags: RunFlags): StateletConfig {
  const host = { hostnameOverride: 'node' };
  const places = Object.fromEntries(Object.entries(flags).filter(([name]) => PLACES.includes(name)));
  try {
    return resolveConfig({ ...places, ...host });
  } catch {
    return resolveConfig(host);
  }
}

/** The format of `-o json`: names stay, and new ones may come. */
export function reportJson(findings: readonly Finding[]): string {
  const report = {
    apiVersion: 'statelet.dev/v1',
    kind: 'DoctorReport',
    healthy: !hasErrors(findings),
    findings,
  };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}

const COLOURS: Readonly<Record<FindingStatus, 'green' | 'yellow' | 'red' | 'dim'>> = {
  ok: 'green',
  warning: 'yellow',
  error: 'red',
  unknown: 'dim',
};

const STATUS_WIDTH = 'warning'.length;

/** A line for each finding, and below it what mends it. */
export function reportText(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => textWidth(check)));
  const indent = ' '.repeat(STATUS_WIDTH + width + 4);
  const lines = findings.map(({ check, status, message, mend }) => {
    const head = `${styleText(COLOURS[status], padText(status, STATUS_WIDTH))}  ${padText(check, width)}`;
    const line = `${head}  ${oneLine(message)}\n`;
    return mend === undefined ? line : `${line}${indent}mend: ${oneLine(mend)}\n`;
  });
  return lines.join('') + verdict(findings);
}

function verdict(findings: readonly Finding[]): string {
  const count = (status: FindingStatus) => findings.filter((one) => one.status === status).length;
  const [errors, warnings, unknown] = [count('error'), count('warning'), count('unknown')];
  const parts = [
    errors === 0
      ? 'nothing keeps the node from working'
      : `errors, which keep the node from working: ${errors}`,
    ...(warnings === 0 ? [] : [`warnings: ${warnings}`]),
    ...(unknown === 0 ? [] : [`unknown: ${unknown}`]),
  ];
  return `\n${parts.join(', ')}\n`;
}
