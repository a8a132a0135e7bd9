/** The file of ResourceClaims that drivers have prepared, or may have, for pods of this node. */
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { ClaimState } from '../../policies/dra/claim-devices.ts';
import { claimsText, readClaims } from '../../policies/dra/claims-checkpoint.ts';
import { storedText } from '../../../system/newest-file.ts';
import { StateFile } from '../node/state-file.ts';

export function claimsFile(rootDir: string): StateFile<readonly ClaimState[]> {
  return new StateFile(storedText(join(rootDir, 'dra_manager_state')), {
    manager: 'DRA',
    read: (text) => readClaims(text, crc32),
    text: (claims) => claimsText(claims, crc32),
  });
}
