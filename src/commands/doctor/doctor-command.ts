/** `statelet doctor`: looks at the machine, and says what is wrong and what mends it. */
import type { RunFlags } from '../../config/config.ts';
import { examine } from '../../doctor/examine.ts';
import { inOrder, isSick } from '../../policies/doctor/diagnosis.ts';
import { print, printStyled } from '../../system/terminal.ts';
import { examinedConfiguration } from './examined-configuration.ts';
import { reportJson, reportText } from './report-text.ts';

export interface DoctorFlags extends RunFlags {
  readonly output?: 'json';
}

/** Resolves with the exit code. */
export async function doctor({ output, ...flags }: DoctorFlags): Promise<number> {
  const { config, findings } = await examinedConfiguration(flags);
  const all = inOrder([...findings, ...(await examine(config))]);
  if (output === 'json') print(reportJson(all));
  else printStyled(reportText(all));
  return isSick(all) ? 1 : 0;
}
