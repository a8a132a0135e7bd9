/** What `statelet doctor` prints. */
import { styleText } from 'node:util';
import { isSick } from '../../policies/doctor/diagnosis.ts';
import type { Finding, FindingStatus } from '../../policies/doctor/finding.ts';
import { oneLine, padText, textWidth } from '../../policies/formats/terminal-text.ts';

/** The format of `-o json`: names stay, and new ones may come. */
export function reportJson(findings: readonly Finding[]): string {
  const report = {
    apiVersion: 'statelet.dev/v1',
    kind: 'DoctorReport',
    healthy: !isSick(findings),
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
