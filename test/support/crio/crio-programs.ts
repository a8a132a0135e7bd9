/** The programs of CRI-O, where the machine has them: Debian has no package of it. */
import { dirname, join } from 'node:path';
import { isFile, onPath } from '../kubernetes-programs.ts';

export interface CrioPrograms {
  readonly crio: string;
  readonly conmon: string;
  readonly pinns: string;
}

/** `$CRIO` or `crio` of the PATH; conmon and pinns beside it or in the PATH. Where one is missing: a text that says which. */
export function findCrio(): CrioPrograms | string {
  const given = process.env.CRIO ?? '';
  if (given !== '' && !isFile(given)) return `there is no ${given}, which CRIO names`;
  const crio = given === '' ? onPath('crio') : given;
  if (crio === undefined) return 'there is no crio in the PATH, and CRIO names none';
  const [conmon, pinns] = ['conmon', 'pinns'].map((name) => {
    const beside = join(dirname(crio), name);
    return isFile(beside) ? beside : onPath(name);
  });
  if (conmon === undefined) return `there is no conmon beside ${crio} or in the PATH`;
  if (pinns === undefined) return `there is no pinns beside ${crio} or in the PATH`;
  return { crio, conmon, pinns };
}
