import { SternaError } from '../../platform/errors.ts'
import { expositionType } from '../../platform/metrics/exposition.ts'
import { RawAnswer } from '../operation/raw-answer.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import type { Needs } from './operation-services.ts'

const at = operationsAt({ path: '/metrics', tag: 'Operation', permission: 'metrics' })

/** `/metrics`, for Prometheus. */
export const metricsOperations = (services: Needs<'metricsPage' | 'version'>): Operation[] => [
  at.get('metrics.get', '', 'Read the metrics', {
    description:
      'In the text format of Prometheus. Sandbox keys are refused. No key is needed at the addresses of the ' + 'setting `metrics.listen`.',
    answer: ['The metrics.', 'text/plain'],
    handle: async ({ caller, reply }) => {
      if (caller.confined)
        throw new SternaError('restricted_api_key', 'The metrics are about live mail. Use a live key with the metrics permission.')
      const text = await services.metricsPage.text(services.version)
      reply.set('Cache-Control', 'no-store')
      return new RawAnswer(text, { type: expositionType })
    },
  }),
]
