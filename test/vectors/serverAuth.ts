import { requestAttributes } from '../../src/agent/policies/server/request-attributes.ts';
import { requestTarget } from '../../src/agent/server/node/router.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly method: string;
  readonly requestTarget: string;
  readonly nodeName: string;
}

export const adapter: VectorAdapter = {
  adapt({ method, requestTarget: url, nodeName }: Input) {
    const { path } = requestTarget(url);
    const attributes = requestAttributes(method, path, nodeName).map(({ version, ...others }) => ({
      ...others,
      apiGroup: '',
      apiVersion: version,
      namespace: '',
      resourceRequest: true,
      path,
    }));
    return { attributes };
  },
};
