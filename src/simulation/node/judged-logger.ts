import type { Logger } from '../../types/logger.ts';
import type { Violation } from '../history.ts';

/** The agent logs an error only if its charts did not foresee something: that is a defect. */
export function judgedLogger(onViolation: (violation: Omit<Violation, 'node'>) => void): Logger {
  const nothing = () => undefined;
  return {
    trace: nothing,
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: (fields, what) => {
      const uid = 'uid' in fields ? { uid: String(fields.uid) } : {};
      // A line about a broken invariant names it: "… (I5)".
      const [, invariant = 'defect'] = /\((I\d+)\)$/.exec(what) ?? [];
      onViolation({ invariant, what, ...uid });
    },
  };
}
